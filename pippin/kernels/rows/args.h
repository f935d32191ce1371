// The arguments of rows.h and the tables of kernels.inc. Included by files that are compiled for
// one instruction set: no inline functions here.
#pragma once

#include <cstdint>

namespace pippin::kernels {

// m rows of n elements; strides are between rows, in elements. y may be x (with its stride).
struct RowsArgs {
  const float* x;
  int64_t x_stride;
  float* y;
  int64_t y_stride;
  int64_t m, n;
};

enum class ReduceOp { Sum, Mean, Max, Min, SumOfSquares, LogSumExp };
constexpr int kNumReduceOps = static_cast<int>(ReduceOp::LogSumExp) + 1;

// The activation of an MLP's gate, applied before the multiplication with the other half.
enum class GateOp { Silu, Gelu, GeluTanh, GeluSigmoid, Sigmoid };
constexpr int kNumGateOps = static_cast<int>(GateOp::Sigmoid) + 1;

// Row i of x uses row i of both; stride 0 shares one row.
struct RotaryAngles {
  const float* cos;
  const float* sin;
  int64_t stride;
  bool half;  // rows are n / 2 wide, an angle for each pair; else n, an angle for each element
};

struct RowsKernels {
  const char* name;

  // y = x / sqrt(mean(x^2) + eps) * gamma
  void (*rms_norm)(const RowsArgs& args, const float* gamma, float eps) noexcept;
  // y = (x - mean(x)) / sqrt(variance(x) + eps) * gamma + beta
  void (*layer_norm)(const RowsArgs& args, const float* gamma, const float* beta,
                     float eps) noexcept;
  // y = exp(x - max(x)) / sum. A row of -inf alone, or with NaN or +inf, gives NaN.
  void (*softmax)(const RowsArgs& args) noexcept;
  // y[i * y_stride] = op(x[i, :]); Max and Min give NaN if any element is NaN.
  void (*reduce)(ReduceOp op, const RowsArgs& args) noexcept;
  // y = op(x) * up: the middle of SwiGLU and similar MLPs.
  void (*gated)(GateOp op, const RowsArgs& args, const float* up, int64_t up_stride) noexcept;
  // y = x * cos + turned(x) * sin, where turned([a, b]) = [-b, a]; n is even.
  void (*rotary)(const RowsArgs& args, const RotaryAngles& angles) noexcept;
  // The same if a and b alternate in x: turned([a, b, a', b', ...]) = [-b, a, -b', a', ...].
  void (*rotary_pairs)(const RowsArgs& args, const RotaryAngles& angles) noexcept;
};

#define PIPPIN_ROWS(flag, name) extern const RowsKernels name;
#include "pippin/kernels/rows/kernels.inc"
#undef PIPPIN_ROWS

}  // namespace pippin::kernels
