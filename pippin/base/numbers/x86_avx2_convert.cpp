#include "pippin/base/numbers/x86_avx2_convert.h"

#include <immintrin.h>

namespace pippin {
namespace {

struct Overflow {
  __m256i seen = _mm256_setzero_si256();

  // Bit patterns of magnitudes compare like integers: 65520 rounds to infinity, 0x7f800000 is
  // infinity.
  void look(__m256 values) {
    const __m256i magnitude =
        _mm256_and_si256(_mm256_castps_si256(values), _mm256_set1_epi32(0x7fffffff));
    const __m256i large = _mm256_cmpgt_epi32(magnitude, _mm256_set1_epi32(0x477fefff));
    const __m256i finite = _mm256_cmpgt_epi32(_mm256_set1_epi32(0x7f800000), magnitude);
    seen = _mm256_or_si256(seen, _mm256_and_si256(large, finite));
  }
  bool any() const { return _mm256_testz_si256(seen, seen) == 0; }
};

__m128i to_half(__m256 values) {
  return _mm256_cvtps_ph(values, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

}  // namespace

bool avx2_f32_to_f16(const unsigned char* from, unsigned char* to, size_t count) noexcept {
  Overflow overflow;
  for (size_t i = 0; i < count; i += 8) {
    const __m256 values = _mm256_loadu_ps(reinterpret_cast<const float*>(from + i * 4));
    overflow.look(values);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i * 2), to_half(values));
  }
  return overflow.any();
}

bool avx2_bf16_to_f16(const unsigned char* from, unsigned char* to, size_t count) noexcept {
  Overflow overflow;
  for (size_t i = 0; i < count; i += 8) {
    const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i * 2));
    const __m256 values = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 16));
    overflow.look(values);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i * 2), to_half(values));
  }
  return overflow.any();
}

void avx2_f16_to_f32(const unsigned char* from, unsigned char* to, size_t count) noexcept {
  for (size_t i = 0; i < count; i += 8) {
    const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i * 2));
    _mm256_storeu_ps(reinterpret_cast<float*>(to + i * 4), _mm256_cvtph_ps(halves));
  }
}

}  // namespace pippin
