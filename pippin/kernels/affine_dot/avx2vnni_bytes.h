// Products of bytes for fixed_point.h by vpdpbusd on 256 bits, which AVX-VNNI and AVX-512 VNNI with
// VL encode each in its own way.
#pragma once

#include "pippin/kernels/affine_dot/avx2_words.h"

namespace pippin::kernels {
namespace {

PIPPIN_VEC W low_nibbles(W words) {
  return {_mm256_and_si256(words.v, _mm256_set1_epi8(15))};
}
PIPPIN_VEC W high_nibbles(W words) {
  return {_mm256_and_si256(_mm256_srli_epi16(words.v, 4), _mm256_set1_epi8(15))};
}
PIPPIN_VEC I dot_bytes(I sum, W codes, const int8_t* x) {
  const __m256i digits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x));
#if defined(__AVXVNNI__)
  return {_mm256_dpbusd_avx_epi32(sum.v, codes.v, digits)};
#else
  return {_mm256_dpbusd_epi32(sum.v, codes.v, digits)};
#endif
}

}  // namespace
}  // namespace pippin::kernels

#include "pippin/kernels/affine_dot/fixed_point.h"
