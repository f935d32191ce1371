// Words of codes for vectors.h, with AVX2.
#pragma once

#include "pippin/kernels/vec/avx2.h"
// Must come first: the headers below use these vectors.
#include "pippin/kernels/affine_dot/args.h"

namespace pippin::kernels {
namespace {

struct W {
  __m256i v;
};

struct Codes4 {
  __m256i low = _mm256_set1_epi32(15);
};
PIPPIN_VEC F code(const Codes4& codes, W words, int j) {
  return {_mm256_cvtepi32_ps(_mm256_and_si256(_mm256_srli_epi32(words.v, 4 * j), codes.low))};
}
PIPPIN_VEC W load_words(const uint8_t* p, int64_t count) {
  if (count >= 8) return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))};
  const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  const __m256i exist = _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)), lanes);
  return {_mm256_maskload_epi32(reinterpret_cast<const int*>(p), exist)};
}
PIPPIN_VEC F load_bytes(const uint8_t* p) {
  const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
  return {_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes))};
}
PIPPIN_VEC F load_nibbles(const uint8_t* p) {
  const __m128i pairs = _mm_cvtsi32_si128(*reinterpret_cast<const int*>(p));
  const __m128i low = _mm_set1_epi8(15);
  const __m128i codes =
      _mm_unpacklo_epi8(_mm_and_si128(pairs, low), _mm_and_si128(_mm_srli_epi16(pairs, 4), low));
  return {_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(codes))};
}

// The scale of each lane of a block of 64 columns.
struct GroupScales {
  explicit PIPPIN_VEC GroupScales(int64_t columns) : group(columns) {}
  PIPPIN_VEC F at(const float* scales, int64_t k) const {
    if (group % 64 == 0) return set(scales[k / group]);
    const float first = scales[k / group], last = scales[(k + 32) / group];
    return {_mm256_setr_ps(first, first, first, first, last, last, last, last)};
  }
  int64_t group;
};

}  // namespace
}  // namespace pippin::kernels

#include "pippin/kernels/affine_dot/vectors.h"
