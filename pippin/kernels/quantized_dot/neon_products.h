// The products of vector_kernels.h for every AArch64: 8 by 8 bits give 16.
#pragma once

#include "pippin/kernels/quantized_dot/neon_bytes.h"

namespace pippin::kernels {
namespace {

constexpr bool kSignedBytes = true;
constexpr int kTileRows = 3;

PIPPIN_VEC int32x4_t add_fours(int16x8_t low, int16x8_t high) {
  return vpaddq_s32(vpaddlq_s16(low), vpaddlq_s16(high));
}

using Wide = B;
PIPPIN_VEC Wide wide(B w) {
  return w;
}
PIPPIN_VEC I dot4(I sum, Wide w, B x) {
  const int8x16_t a = signed_bytes(w), b = signed_bytes(x);
  const int16x8_t low = vmull_s8(vget_low_s8(a), vget_low_s8(b));
  return {vaddq_s32(sum.v, add_fours(low, vmull_high_s8(a, b)))};
}

// Of nibbles, eight products have 16 bits: 8 * 15 * 127 < 2^15.
struct NibbleSum {
  I sum;
  int16x8_t low, high;
  PIPPIN_VEC void start(I first, B w, B x) {
    sum = first;
    const int8x16_t a = signed_bytes(w), b = signed_bytes(x);
    low = vmull_s8(vget_low_s8(a), vget_low_s8(b));
    high = vmull_high_s8(a, b);
  }
  PIPPIN_VEC void add(B w, B x) {
    const int8x16_t a = signed_bytes(w), b = signed_bytes(x);
    low = vmlal_s8(low, vget_low_s8(a), vget_low_s8(b));
    high = vmlal_high_s8(high, a, b);
  }
  PIPPIN_VEC I total() const { return {vaddq_s32(sum.v, add_fours(low, high))}; }
};

}  // namespace
}  // namespace pippin::kernels
