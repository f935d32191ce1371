// The bytes of bytes.h for AVX2.
#pragma once

#include "pippin/kernels/vec/avx2.h"

namespace pippin::kernels {
namespace {

constexpr int64_t kByteLanes = 32;

struct B {
  __m256i v;
};

PIPPIN_VEC B load_bytes(const void* p) {
  return {_mm256_loadu_si256(static_cast<const __m256i*>(p))};
}
PIPPIN_VEC void store_bytes(void* p, B x) {
  _mm256_storeu_si256(static_cast<__m256i*>(p), x.v);
}
PIPPIN_VEC B repeat4(const void* p) {
  int32_t four;
  __builtin_memcpy(&four, p, sizeof(four));
  return {_mm256_set1_epi32(four)};
}
// Within each four lanes, four bytes in every lane: those of lane kFour.
template <int kFour>
PIPPIN_VEC B repeat_four_of(B x) {
  return {_mm256_shuffle_epi32(x.v, kFour * 0x55)};
}
PIPPIN_VEC B flip(B x, uint8_t mask) {
  return {_mm256_xor_si256(x.v, _mm256_set1_epi8(static_cast<char>(mask)))};
}
PIPPIN_VEC B low_nibbles(B x) {
  return {_mm256_and_si256(x.v, _mm256_set1_epi8(15))};
}
PIPPIN_VEC B high_nibbles(B x) {
  return {_mm256_and_si256(_mm256_srli_epi16(x.v, 4), _mm256_set1_epi8(15))};
}
// high + 1 if low is 128 or more.
PIPPIN_VEC B add_top_bit(B high, B low) {
  return {_mm256_sub_epi8(high.v, _mm256_cmpgt_epi8(_mm256_setzero_si256(), low.v))};
}
PIPPIN_VEC I words(B x) {
  return {x.v};
}
PIPPIN_VEC B bytes(I x) {
  return {x.v};
}

// Widens unsigned bytes, and nibbles of a word, to the first lanes.
PIPPIN_VEC I widen(const uint8_t* p) {
  return {_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)))};
}
PIPPIN_VEC I nibble_lanes(uint64_t word) {
  const __m256i shifted = _mm256_srlv_epi32(_mm256_set1_epi32(static_cast<int>(word)),
                                            _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28));
  return {_mm256_and_si256(shifted, _mm256_set1_epi32(15))};
}
PIPPIN_VEC I lane_numbers() {
  return {_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)};
}
PIPPIN_VEC F pick(F table, I index) {
  return {_mm256_permutevar8x32_ps(table.v, index.v)};
}
// table[code] for codes of kBits bits.
template <int kBits>
PIPPIN_VEC F look_up(const float* table, I code) {
  if constexpr (kBits > 4) {
    return {_mm256_i32gather_ps(table, code.v, 4)};
  } else {
    const F low = pick(load(table), code), high = pick(load(table + 8), code);
    return {_mm256_blendv_ps(low.v, high.v, floats(shift_left<28>(code)).v)};
  }
}

// Within each four lanes: x[i] gets element i of all x. And the sums of the fours of a, b, c and d.
PIPPIN_VEC void transpose_fours(F (&x)[4]) {
  const __m256 ab = _mm256_unpacklo_ps(x[0].v, x[1].v), ab2 = _mm256_unpackhi_ps(x[0].v, x[1].v);
  const __m256 cd = _mm256_unpacklo_ps(x[2].v, x[3].v), cd2 = _mm256_unpackhi_ps(x[2].v, x[3].v);
  x[0] = {_mm256_shuffle_ps(ab, cd, 0x44)};
  x[1] = {_mm256_shuffle_ps(ab, cd, 0xee)};
  x[2] = {_mm256_shuffle_ps(ab2, cd2, 0x44)};
  x[3] = {_mm256_shuffle_ps(ab2, cd2, 0xee)};
}
PIPPIN_VEC I add_fours(I a, I b, I c, I d) {
  return {_mm256_hadd_epi32(_mm256_hadd_epi32(a.v, b.v), _mm256_hadd_epi32(c.v, d.v))};
}
// Separates the fours of a and b by even and odd position.
PIPPIN_VEC void split_fours(F a, F b, F& even, F& odd) {
  even = {_mm256_permute2f128_ps(a.v, b.v, 0x20)};
  odd = {_mm256_permute2f128_ps(a.v, b.v, 0x31)};
}

// Extraction of 16 codes from 16 bytes: each lane gets the 16-bit window with its code, and a
// multiplication moves the code to the window's top.
struct Windows {
  alignas(32) uint8_t index[2][32];
  alignas(32) uint16_t factor[2][16];
};
template <int kBits>
constexpr Windows make_windows() {
  Windows result{};
  for (int half = 0; half < 2; ++half) {
    for (int i = 0; i < 16; ++i) {
      const int bit = (8 * half + i % 8) * kBits;
      result.index[half][2 * i] = static_cast<uint8_t>(bit / 8);
      result.index[half][2 * i + 1] = static_cast<uint8_t>(bit / 8 + 1);
      result.factor[half][i] = static_cast<uint16_t>(1 << (16 - kBits - bit % 8));
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
    const __m256i pairs =
        _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
    const __m256i both = _mm256_or_si256(pairs, _mm256_slli_epi16(pairs, 4));
    return {_mm256_and_si256(both, _mm256_set1_epi8(15))};
  } else {
    const __m256i source = _mm256_inserti128_si256(
        _mm256_castsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))),
        _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 2 * kBits)), 1);
    __m256i half[2];
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i) {
      const B index = load_bytes(kWindows<kBits>.index[i]);
      const B factor = load_bytes(kWindows<kBits>.factor[i]);
      half[i] = _mm256_srli_epi16(
          _mm256_mullo_epi16(_mm256_shuffle_epi8(source, index.v), factor.v), 16 - kBits);
    }
    return {_mm256_packus_epi16(half[0], half[1])};
  }
}

PIPPIN_VEC B repeat16(const uint8_t* p) {
  return {_mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)))};
}

// A table of 2^kBits bytes, 16 per register.
template <int kBits>
struct ByteTable {
  static constexpr int kParts = kBits <= 4 ? 1 : 1 << (kBits - 4);
  B part[kParts];

  PIPPIN_VEC void load(const uint8_t* p) {
    for (int i = 0; i < kParts; ++i) part[i] = repeat16(p + 16 * i);
  }
  PIPPIN_VEC B at(B codes) const {
    if constexpr (kParts == 1) {
      return {_mm256_shuffle_epi8(part[0].v, codes.v)};
    } else {
      // Bit 4 selects between neighbours, bit 5 between pairs of them, and so on.
      const __m256i place = low_nibbles(codes).v;
      __m256i found[kParts];
#pragma GCC unroll 16
      for (int i = 0; i < kParts; ++i) found[i] = _mm256_shuffle_epi8(part[i].v, place);
      __m256i choice = _mm256_slli_epi16(codes.v, 3);
#pragma GCC unroll 8
      for (int step = 1; step < kParts; step *= 2) {
#pragma GCC unroll 8
        for (int i = 0; i < kParts; i += 2 * step) {
          found[i] = _mm256_blendv_epi8(found[i], found[i + step], choice);
        }
        choice = step == 1   ? _mm256_slli_epi16(codes.v, 2)
                 : step == 2 ? _mm256_slli_epi16(codes.v, 1)
                             : codes.v;
      }
      return {found[0]};
    }
  }
};

}  // namespace
}  // namespace pippin::kernels

#include "pippin/kernels/quantized_dot/vector_bytes.h"
