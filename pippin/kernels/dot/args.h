// The arguments of dot.h, and the kernels of kernels.inc as functions. Included by files that are
// compiled for one instruction set: no inline functions here.
#pragma once

#include <cstdint>

namespace pippin::kernels {

enum class WeightType { F32, F16, BF16 };

// Strides are between rows, in elements. y overlaps neither x nor w nor bias. k may be 0.
struct DotArgs {
  const float* x;
  int64_t x_stride;
  const void* w;
  int64_t w_stride;
  const float* bias;  // or null
  float* y;
  int64_t y_stride;
  int64_t m, n, k;
};

#define PIPPIN_DOT(flag, name, weight, grain) void name(const DotArgs& args) noexcept;
#include "pippin/kernels/dot/kernels.inc"
#undef PIPPIN_DOT

}  // namespace pippin::kernels
