// The products of bytes.h for plain AVX2: vpmaddubsw adds pairs of products in 16 bits.
#pragma once

#include "pippin/kernels/quantized_dot/avx2_bytes.h"

namespace pippin::kernels {
namespace {

constexpr bool kSignedBytes = true;
constexpr int kTileRows = 4;

PIPPIN_VEC __m256i add_pairs(__m256i x) {
  return _mm256_madd_epi16(x, _mm256_set1_epi16(1));
}

// Keeps the compiler from reordering the additions: it would compute all products first, which
// needs too many registers.
PIPPIN_VEC __m256i in_order(__m256i x) {
  __asm__("" : "+x"(x));
  return x;
}

// | is at most 128 and |x| 127, so a pair of products fits 16 bits.
struct Wide {
  __m256i value, magnitude;
};
PIPPIN_VEC Wide wide(B w) {
  return {w.v, _mm256_abs_epi8(w.v)};
}
PIPPIN_VEC I dot4(I sum, Wide w, B x) {
  const __m256i signed_x = _mm256_sign_epi8(x.v, w.value);
  return {
      in_order(_mm256_add_epi32(sum.v, add_pairs(_mm256_maddubs_epi16(w.magnitude, signed_x))))};
}

// With nibbles, eight pairs of products fit 16 bits: 16 * 15 * 127 < 2^15.
struct NibbleSum {
  I sum;
  __m256i pairs;
  PIPPIN_VEC void start(I first, B w, B x) {
    sum = first;
    pairs = _mm256_maddubs_epi16(w.v, x.v);
  }
  PIPPIN_VEC void add(B w, B x) {
    pairs = in_order(_mm256_add_epi16(pairs, _mm256_maddubs_epi16(w.v, x.v)));
  }
  PIPPIN_VEC I total() const { return {_mm256_add_epi32(sum.v, add_pairs(pairs))}; }
};
// Sums of one unit each, starting from 0: two pairs of products in a 16-bit lane, which holds all
// eight.
PIPPIN_VEC I add_fours(const NibbleSum (&s)[4]) {
  return {add_pairs(_mm256_hadd_epi16(_mm256_hadd_epi16(s[0].pairs, s[1].pairs),
                                      _mm256_hadd_epi16(s[2].pairs, s[3].pairs)))};
}

}  // namespace
}  // namespace pippin::kernels
