// A half group's codes as fp32 numbers, columns in order, for NEON.
#pragma once

#include "pippin/kernels/e4m7/args.h"
#include "pippin/kernels/vec/neon.h"

namespace pippin::kernels {
namespace {

PIPPIN_VEC void load_e4m7(const uint8_t* group, int half, F (&w)[16]) {
  // seee becomes s0000eee.
  static const uint8_t kHighBytes[16] = {0,   1,   2,   3,   4,   5,   6,   7,
                                         128, 129, 130, 131, 132, 133, 134, 135};
  const uint8x16_t high_bytes = vld1q_u8(kHighBytes);
  const uint32x4_t odd = vdupq_n_u32(0xffff0000);
#pragma GCC unroll 4
  for (int part = 0; part < 4; ++part) {
    const uint8x16_t low = vld1q_u8(group + 64 * half + 16 * part);
    const uint8x16_t both = vld1q_u8(group + 128 + 16 * part);
    const uint8x16_t index = half != 0 ? vshrq_n_u8(both, 4) : vandq_u8(both, vdupq_n_u8(15));
    const uint8x16_t high = vqtbl1q_u8(high_bytes, index);
    const uint32x4_t front = vreinterpretq_u32_u8(vzip1q_u8(low, high));
    const uint32x4_t back = vreinterpretq_u32_u8(vzip2q_u8(low, high));
    w[part] = {vreinterpretq_f32_u32(vshlq_n_u32(front, 16))};
    w[4 + part] = {vreinterpretq_f32_u32(vandq_u32(front, odd))};
    w[8 + part] = {vreinterpretq_f32_u32(vshlq_n_u32(back, 16))};
    w[12 + part] = {vreinterpretq_f32_u32(vandq_u32(back, odd))};
  }
}

// Prevents the compiler from reloading a value shared by several products for each of them.
PIPPIN_VEC void keep_in_register(F& x) {
  __asm__("" : "+w"(x.v));
}

}  // namespace
}  // namespace pippin::kernels
