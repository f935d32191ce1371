// The products of vector_kernels.h for every AArch64: 8-bit by 8-bit products of 16 bits.
#pragma once

#include "pippin/kernels/quantized_dot/neon_bytes.h"

namespace pippin::kernels {
namespace {

constexpr bool kSignedBytes = true;
constexpr int kTileRows = 4;

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

// With nibbles, eight products fit 16 bits: 8 * 15 * 127 < 2^15.
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
// Sums of one unit each, starting from 0: two products in a 16-bit lane, which holds all eight.
PIPPIN_VEC I add_fours(const NibbleSum (&s)[4]) {
  int16x8_t sums[4];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) sums[i] = vaddq_s16(s[i].low, s[i].high);
  return {vpaddlq_s16(vpaddq_s16(vpaddq_s16(sums[0], sums[1]), vpaddq_s16(sums[2], sums[3])))};
}

}  // namespace
}  // namespace pippin::kernels
