// The bytes of vector_kernels.h for AArch64 Advanced SIMD.
#pragma once

#include "pippin/kernels/vec/neon.h"

namespace pippin::kernels {
namespace {

constexpr int64_t kByteLanes = 16;

struct B {
  uint8x16_t v;
};

PIPPIN_VEC B load_bytes(const void* p) {
  return {vld1q_u8(static_cast<const uint8_t*>(p))};
}
PIPPIN_VEC void store_bytes(void* p, B x) {
  vst1q_u8(static_cast<uint8_t*>(p), x.v);
}
PIPPIN_VEC B repeat4(const void* p) {
  uint32_t four;
  __builtin_memcpy(&four, p, sizeof(four));
  return {vreinterpretq_u8_u32(vdupq_n_u32(four))};
}
// Four bytes in every lane: those of lane kFour.
template <int kFour>
PIPPIN_VEC B repeat_four_of(B x) {
  return {vreinterpretq_u8_u32(vdupq_laneq_u32(vreinterpretq_u32_u8(x.v), kFour))};
}
PIPPIN_VEC B flip(B x, uint8_t mask) {
  return {veorq_u8(x.v, vdupq_n_u8(mask))};
}
PIPPIN_VEC B low_nibbles(B x) {
  return {vandq_u8(x.v, vdupq_n_u8(15))};
}
PIPPIN_VEC B high_nibbles(B x) {
  return {vshrq_n_u8(x.v, 4)};
}
// high + 1 if low is 128 or more.
PIPPIN_VEC B add_top_bit(B high, B low) {
  return {vsraq_n_u8(high.v, low.v, 7)};
}
PIPPIN_VEC I words(B x) {
  return {vreinterpretq_s32_u8(x.v)};
}
PIPPIN_VEC B bytes(I x) {
  return {vreinterpretq_u8_s32(x.v)};
}
PIPPIN_VEC int8x16_t signed_bytes(B x) {
  return vreinterpretq_s8_u8(x.v);
}

// Widens unsigned bytes, and nibbles of a word, to the first lanes.
PIPPIN_VEC I widen(const uint8_t* p) {
  uint32_t four;
  __builtin_memcpy(&four, p, sizeof(four));
  const uint8x8_t lanes = vreinterpret_u8_u32(vdup_n_u32(four));
  return {vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(vmovl_u8(lanes))))};
}
PIPPIN_VEC I nibble_lanes(uint64_t word) {
  const int32_t shifts[4] = {0, -4, -8, -12};
  const uint32x4_t shifted = vshlq_u32(vdupq_n_u32(static_cast<uint32_t>(word)), vld1q_s32(shifts));
  return {vreinterpretq_s32_u32(vandq_u32(shifted, vdupq_n_u32(15)))};
}
PIPPIN_VEC I lane_numbers() {
  const int32_t lanes[4] = {0, 1, 2, 3};
  return {vld1q_s32(lanes)};
}
// The byte indices of the fp32 at each index.
PIPPIN_VEC uint8x16_t byte_places(I index) {
  const int32x4_t first = vmulq_s32(index.v, vdupq_n_s32(0x04040404));
  return vreinterpretq_u8_s32(vaddq_s32(first, vdupq_n_s32(0x03020100)));
}
PIPPIN_VEC F pick(F table, I index) {
  return {vreinterpretq_f32_u8(vqtbl1q_u8(vreinterpretq_u8_f32(table.v), byte_places(index)))};
}
// table[code] for codes of kBits bits.
template <int kBits>
PIPPIN_VEC F look_up(const float* table, I code) {
  if constexpr (kBits > 4) {
    int32_t place[kLanes];
    store_i(place, code);
    const float values[] = {table[place[0]], table[place[1]], table[place[2]], table[place[3]]};
    return load(values);
  } else {
    uint8x16x4_t entries;
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) entries.val[i] = vreinterpretq_u8_f32(vld1q_f32(table + 4 * i));
    return {vreinterpretq_f32_u8(vqtbl4q_u8(entries, byte_places(code)))};
  }
}

// Within each four lanes: x[i] gets element i of all x. And the sums of the fours of a, b, c and d.
PIPPIN_VEC void transpose_fours(F (&x)[4]) {
  transpose(x);
}
PIPPIN_VEC I add_fours(I a, I b, I c, I d) {
  return {vpaddq_s32(vpaddq_s32(a.v, b.v), vpaddq_s32(c.v, d.v))};
}
// Separates the fours of a and b by even and odd position.
PIPPIN_VEC void split_fours(F a, F b, F& even, F& odd) {
  even = a;
  odd = b;
}

// Extraction of eight codes from 16 bytes: each lane gets the 16-bit window with its code and
// shifts it down.
struct Windows {
  uint8_t index[2][16];
  int16_t shift[2][8];
};
template <int kBits>
constexpr Windows make_windows() {
  Windows result{};
  for (int half = 0; half < 2; ++half) {
    for (int i = 0; i < 8; ++i) {
      const int bit = (8 * half + i) * kBits;
      result.index[half][2 * i] = static_cast<uint8_t>(bit / 8);
      result.index[half][2 * i + 1] = static_cast<uint8_t>(bit / 8 + 1);
      result.shift[half][i] = static_cast<int16_t>(-(bit % 8));
    }
  }
  return result;
}
template <int kBits>
constexpr Windows kWindows = make_windows<kBits>();

// Number of bytes that unpack() may read after the codes.
template <int kBits>
constexpr int64_t kUnpackSlack = kBits == 4 || kBits == 8 ? 0 : 16;

// Unpacks kByteLanes codes in order.
template <int kBits>
PIPPIN_VEC B unpack(const uint8_t* p) {
  if constexpr (kBits == 8) {
    return load_bytes(p);
  } else if constexpr (kBits == 4) {
    const uint8x8_t pairs = vld1_u8(p);
    const uint8x8_t low = vand_u8(pairs, vdup_n_u8(15)), high = vshr_n_u8(pairs, 4);
    return {vcombine_u8(vzip1_u8(low, high), vzip2_u8(low, high))};
  } else {
    const uint8x16_t source = vld1q_u8(p);
    uint8x16_t half[2];
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i) {
      const uint8x16_t window = vqtbl1q_u8(source, vld1q_u8(kWindows<kBits>.index[i]));
      half[i] = vreinterpretq_u8_u16(
          vshlq_u16(vreinterpretq_u16_u8(window), vld1q_s16(kWindows<kBits>.shift[i])));
    }
    return {vandq_u8(vuzp1q_u8(half[0], half[1]), vdupq_n_u8((1 << kBits) - 1))};
  }
}

// A table of 2^kBits bytes, 16 per register.
template <int kBits>
struct ByteTable {
  static constexpr int kParts = kBits <= 4 ? 1 : 1 << (kBits - 4);
  B part[kParts];

  PIPPIN_VEC void load(const uint8_t* p) {
    for (int i = 0; i < kParts; ++i) part[i] = load_bytes(p + 16 * i);
  }
  PIPPIN_VEC uint8x16x4_t four(int first) const {
    return {{part[first].v, part[first + 1].v, part[first + 2].v, part[first + 3].v}};
  }
  PIPPIN_VEC B at(B codes) const {
    if constexpr (kParts == 1) {
      return {vqtbl1q_u8(part[0].v, codes.v)};
    } else {
      uint8x16_t found = vqtbl4q_u8(four(0), codes.v);
#pragma GCC unroll 4
      for (int i = 4; i < kParts; i += 4) {
        const uint8x16_t place = vsubq_u8(codes.v, vdupq_n_u8(static_cast<uint8_t>(16 * i)));
        found = vqtbx4q_u8(found, four(i), place);
      }
      return {found};
    }
  }
};

}  // namespace
}  // namespace pippin::kernels

#include "pippin/kernels/quantized_dot/vector_bytes.h"
