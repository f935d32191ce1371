// Words of codes for vectors.h, with AVX-512.
#pragma once

#include "pippin/kernels/vec/avx512.h"
// Must come first: the headers below use these vectors.
#include "pippin/kernels/affine_dot/args.h"

namespace pippin::kernels {
namespace {

struct W {
  __m512i v;
};

// A permutation looks up sixteen numbers at once by the low 4 bits of each lane, the codes.
struct Codes4 {
  __m512 numbers = _mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
};
PIPPIN_VEC F code(const Codes4& codes, W words, int j) {
  return {_mm512_permutexvar_ps(
      j == 0 ? words.v : _mm512_srli_epi32(words.v, static_cast<unsigned>(4 * j)), codes.numbers)};
}
PIPPIN_VEC W load_words(const uint8_t* p, int64_t count) {
  if (count >= 16) return {_mm512_loadu_si512(p)};
  return {_mm512_maskz_loadu_epi32(first_lanes(count), p)};
}
PIPPIN_VEC F load_bytes(const uint8_t* p) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return {_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(bytes))};
}
PIPPIN_VEC F load_nibbles(const uint8_t* p) {
  const __m128i pairs = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
  const __m128i low = _mm_set1_epi8(15);
  const __m128i codes =
      _mm_unpacklo_epi8(_mm_and_si128(pairs, low), _mm_and_si128(_mm_srli_epi16(pairs, 4), low));
  return {_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(codes))};
}

// The scale of each lane of a block of 128 columns.
struct GroupScales {
  explicit PIPPIN_VEC GroupScales(int64_t columns) : group(columns) {
    const int lane_shift = columns <= 32 ? 2 : columns <= 64 ? 3 : 4;  // lanes: 4, 8, 16
    lanes =
        _mm512_srl_epi32(_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
                         _mm_cvtsi32_si128(lane_shift));
    is_even = (columns & (columns - 1)) == 0;
    shift = __builtin_ctzll(static_cast<uint64_t>(columns));
  }
  PIPPIN_VEC F at(const float* scales, int64_t k) const {
    if (is_even) {
      return {_mm512_permutexvar_ps(lanes, _mm512_loadu_ps(scales + (k >> shift)))};
    }
    float each[16];  // groups of 96 and similar
    for (int64_t lane = 0; lane < 16; ++lane) each[lane] = scales[(k + 8 * lane) / group];
    return load(each);
  }
  int64_t group;
  __m512i lanes;
  bool is_even;  // group is a power of two
  int shift;     // log2(group)
};

}  // namespace
}  // namespace pippin::kernels

#include "pippin/kernels/affine_dot/vectors.h"
