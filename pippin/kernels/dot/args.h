// The arguments of dot.h, and the kernels of kernels.inc as functions. Included by files that are
// compiled for one instruction set: no inline functions here.
#pragma once

#include <cstdint>

namespace pippin::kernels {

enum class WeightType { F32, F16, BF16 };

// Strides are between rows, in elements. y must not overlap x, w or bias. k may be 0.
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

// For many rows, or for none, which only packs W. `packed` holds W in the kernel's layout: k floats
// for each of n columns, n rounded up to the kernel's grain, with the columns of a grain
// interleaved. (The reference reads w.)
struct ManyRowsArgs {
  DotArgs dot;
  float* packed;
  bool is_packed;  // by an earlier call with the same w, n and k: w is not read
};

#define PIPPIN_DOT(flag, name, weight, grain) \
  void name(const DotArgs& args) noexcept;    \
  void name##_many(const ManyRowsArgs& args) noexcept;
#include "pippin/kernels/dot/kernels.inc"
#undef PIPPIN_DOT

}  // namespace pippin::kernels
