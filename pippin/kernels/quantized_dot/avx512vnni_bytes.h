// The bytes and products of vector_kernels.h for AVX-512 with VNNI and VBMI.
#pragma once

#include "pippin/kernels/vec/avx512.h"

namespace pippin::kernels {
namespace {

constexpr int64_t kByteLanes = 64;
constexpr bool kPartLoads = true;
constexpr bool kSignedBytes = false;
constexpr int kTileRows = 6;

struct B {
  __m512i v;
};

PIPPIN_VEC __mmask64 first_bytes(int64_t n) {
  return n >= 64 ? ~__mmask64{0} : n <= 0 ? __mmask64{0} : (__mmask64{1} << n) - 1;
}

PIPPIN_VEC B load_bytes(const void* p) {
  return {_mm512_loadu_si512(p)};
}
PIPPIN_VEC B load_bytes(const void* p, int64_t left) {
  return {left >= 64 ? _mm512_loadu_si512(p) : _mm512_maskz_loadu_epi8(first_bytes(left), p)};
}
PIPPIN_VEC void store_bytes(void* p, B x) {
  _mm512_storeu_si512(p, x.v);
}
PIPPIN_VEC B repeat4(const void* p) {
  int32_t four;
  __builtin_memcpy(&four, p, sizeof(four));
  return {_mm512_set1_epi32(four)};
}
// Within each four lanes, four bytes in every lane: those of lane kFour.
template <int kFour>
PIPPIN_VEC B repeat_four_of(B x) {
  return {_mm512_shuffle_epi32(x.v, static_cast<_MM_PERM_ENUM>(kFour * 0x55))};
}
PIPPIN_VEC B flip(B x, uint8_t mask) {
  return {_mm512_xor_si512(x.v, _mm512_set1_epi8(static_cast<char>(mask)))};
}
PIPPIN_VEC void cut_nibbles(B x, uint8_t mask, B& low, B& high) {
  // Loaded once: the compiler would reload it for every use, and load slots are scarce.
  __asm__("" : "+v"(x.v));
  constexpr int kAndXor = 0x6a;  // (x & nibble) ^ flipped
  const __m512i nibble = _mm512_set1_epi8(15);
  const __m512i flipped = _mm512_set1_epi8(static_cast<char>(mask & 15));
  low = {_mm512_ternarylogic_epi32(x.v, nibble, flipped, kAndXor)};
  high = {_mm512_ternarylogic_epi32(_mm512_srli_epi16(x.v, 4), nibble, flipped, kAndXor)};
}
PIPPIN_VEC I words(B x) {
  return {x.v};
}
PIPPIN_VEC B bytes(I x) {
  return {x.v};
}

// Widens unsigned bytes, and nibbles of a word, to the first lanes.
PIPPIN_VEC I widen(const uint8_t* p) {
  return {_mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)))};
}
PIPPIN_VEC I nibble_lanes(uint64_t word) {
  const __m128i pairs = _mm_set1_epi64x(static_cast<int64_t>(word));
  const __m128i low = _mm_and_si128(pairs, _mm_set1_epi8(15));
  const __m128i high = _mm_and_si128(_mm_srli_epi16(pairs, 4), _mm_set1_epi8(15));
  return {_mm512_cvtepu8_epi32(_mm_unpacklo_epi8(low, high))};
}
PIPPIN_VEC I lane_numbers() {
  return {_mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)};
}
PIPPIN_VEC F pick(F table, I index) {
  return {_mm512_permutexvar_ps(index.v, table.v)};
}
// table[code] for codes of kBits bits.
template <int kBits>
PIPPIN_VEC F look_up(const float* table, I code) {
  if constexpr (kBits <= 4) {
    return pick(load(table), code);
  } else if constexpr (kBits == 6) {
    const __m512 low = _mm512_permutex2var_ps(load(table).v, code.v, load(table + 16).v);
    const __m512 high = _mm512_permutex2var_ps(load(table + 32).v, code.v, load(table + 48).v);
    return {_mm512_mask_blend_ps(_mm512_test_epi32_mask(code.v, set_i(32).v), low, high)};
  } else {
    return {_mm512_i32gather_ps(code.v, table, 4)};
  }
}

// Within each four lanes: x[i] gets element i of all x. And the sums of the fours of a, b, c and d.
PIPPIN_VEC void transpose_fours(F (&x)[4]) {
  const __m512 ab = _mm512_unpacklo_ps(x[0].v, x[1].v), ab2 = _mm512_unpackhi_ps(x[0].v, x[1].v);
  const __m512 cd = _mm512_unpacklo_ps(x[2].v, x[3].v), cd2 = _mm512_unpackhi_ps(x[2].v, x[3].v);
  x[0] = {_mm512_shuffle_ps(ab, cd, 0x44)};
  x[1] = {_mm512_shuffle_ps(ab, cd, 0xee)};
  x[2] = {_mm512_shuffle_ps(ab2, cd2, 0x44)};
  x[3] = {_mm512_shuffle_ps(ab2, cd2, 0xee)};
}
PIPPIN_VEC I add_fours(I a, I b, I c, I d) {
  const I ab = I{_mm512_unpacklo_epi32(a.v, b.v)} + I{_mm512_unpackhi_epi32(a.v, b.v)};
  const I cd = I{_mm512_unpacklo_epi32(c.v, d.v)} + I{_mm512_unpackhi_epi32(c.v, d.v)};
  return I{_mm512_unpacklo_epi64(ab.v, cd.v)} + I{_mm512_unpackhi_epi64(ab.v, cd.v)};
}
// Separates the fours of a and b by even and odd position.
PIPPIN_VEC void split_fours(F a, F b, F& even, F& odd) {
  even = {_mm512_shuffle_f32x4(a.v, b.v, 0x88)};
  odd = {_mm512_shuffle_f32x4(a.v, b.v, 0xdd)};
}

struct Bytes64 {
  alignas(64) uint8_t at[64];
};
// Byte 8q + i takes byte b*q + i: each eight codes of b bits move into one 64-bit word.
template <int kBits>
constexpr Bytes64 word_index() {
  Bytes64 index{};
  for (int q = 0; q < 8; ++q) {
    for (int i = 0; i < 8; ++i) index.at[8 * q + i] = static_cast<uint8_t>((kBits * q + i) % 64);
  }
  return index;
}
// Byte 8q + i takes the eight bits from bit b*i of its word on.
template <int kBits>
constexpr Bytes64 bit_index() {
  Bytes64 index{};
  for (int i = 0; i < 64; ++i) index.at[i] = static_cast<uint8_t>(kBits * (i % 8));
  return index;
}
template <int kBits>
constexpr Bytes64 kWordIndex = word_index<kBits>();
template <int kBits>
constexpr Bytes64 kBitIndex = bit_index<kBits>();

template <int kBits>
constexpr int64_t kUnpackSlack = 0;

template <int kBits>
PIPPIN_VEC B unpack_loose(const uint8_t* p, int64_t left) {
  constexpr int64_t kBytes = 8 * kBits;
  if constexpr (kBits == 8) return load_bytes(p, left);
  const __m512i bytes = _mm512_maskz_loadu_epi8(first_bytes(left < kBytes ? left : kBytes), p);
  const __m512i words = _mm512_permutexvar_epi8(load_bytes(kWordIndex<kBits>.at).v, bytes);
  return {_mm512_multishift_epi64_epi8(load_bytes(kBitIndex<kBits>.at).v, words)};
}
template <int kBits>
PIPPIN_VEC B unpack(const uint8_t* p) {
  return {_mm512_and_si512(unpack_loose<kBits>(p, 64).v,
                           _mm512_set1_epi8(static_cast<char>((1 << kBits) - 1)))};
}
PIPPIN_VEC B loose_low(B x) {
  return x;
}
PIPPIN_VEC B loose_high(B x) {
  return {_mm512_srli_epi16(x.v, 4)};
}

// See byte_palette_stride().
template <int kBits>
struct ByteTable {
  static constexpr int kParts = kBits == 8 ? 4 : 1;
  B part[kParts];

  PIPPIN_VEC void load(const uint8_t* p) {
    if constexpr (kBits <= 4) {
      part[0] = {_mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)))};
    } else {
#pragma GCC unroll 4
      for (int i = 0; i < kParts; ++i) part[i] = load_bytes(p + 64 * i);
    }
  }
  PIPPIN_VEC B at(B codes) const {
    if constexpr (kBits <= 6) {
      return {_mm512_permutexvar_epi8(codes.v, part[0].v)};
    } else {
      const __m512i low = _mm512_permutex2var_epi8(part[0].v, codes.v, part[1].v);
      const __m512i high = _mm512_permutex2var_epi8(part[2].v, codes.v, part[3].v);
      return {_mm512_mask_blend_epi8(_mm512_movepi8_mask(codes.v), low, high)};
    }
  }
};

PIPPIN_VEC I dot4(I sum, B w, B x) {
  return {_mm512_dpbusd_epi32(sum.v, w.v, x.v)};
}

}  // namespace
}  // namespace pippin::kernels

#include "pippin/kernels/quantized_dot/vector_products.h"
