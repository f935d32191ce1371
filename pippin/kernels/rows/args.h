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
  // y = x * sigmoid(x) * up: the middle of SwiGLU.
  void (*silu_mul)(const RowsArgs& args, const float* up, int64_t up_stride) noexcept;
  // y = x * cos + rotate_half(x) * sin, with rotate_half([a, b]) = [-b, a]; n is even.
  // Row i uses row i of cos and sin, whose rows are n wide; stride 0 shares one row.
  void (*rotary)(const RowsArgs& args, const float* cos, const float* sin,
                 int64_t angle_stride) noexcept;
};

#define PIPPIN_ROWS(flag, name) extern const RowsKernels name;
#define PIPPIN_ROWS_SCALAR(name) extern const RowsKernels name;
#include "pippin/kernels/rows/kernels.inc"
#undef PIPPIN_ROWS
#undef PIPPIN_ROWS_SCALAR

}  // namespace pippin::kernels
