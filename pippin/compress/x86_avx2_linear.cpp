#include "pippin/compress/x86_avx2_linear.h"

#include <immintrin.h>

namespace pippin::compress {
namespace {

// Sums of floats go to doubles after so many elements.
constexpr size_t kFlush = 1024;

// The sums of four vectors' elements, in order.
__m128 sums_of(__m256 a, __m256 b, __m256 c, __m256 d) {
  const __m256 all = _mm256_hadd_ps(_mm256_hadd_ps(a, b), _mm256_hadd_ps(c, d));
  return _mm_add_ps(_mm256_castps256_ps128(all), _mm256_extractf128_ps(all, 1));
}

struct Rounding {
  __m256 inverse, low, high;

  __m256 operator()(__m256 values) const {
    const __m256 scaled = _mm256_mul_ps(values, inverse);
    const __m256 clamped = _mm256_min_ps(_mm256_max_ps(scaled, low), high);
    return _mm256_round_ps(clamped, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }
};

Rounding rounding(float scale, float low, float high) {
  return {_mm256_set1_ps(1 / scale), _mm256_set1_ps(low), _mm256_set1_ps(high)};
}

}  // namespace

void avx2_measure_linear(const float* values, const float* weights, size_t count, float scale,
                         float low, float high, LinearSums* sums) noexcept {
  const Rounding round = rounding(scale, low, high);
  const __m256 factor = _mm256_set1_ps(scale);
  __m256d total = _mm256_setzero_pd();
  for (size_t i = 0; i < count;) {
    const size_t end = count - i < kFlush ? count : i + kFlush;
    __m256 xp = _mm256_setzero_ps(), pp = xp, ps = xp, error = xp;
    for (; i < end; i += 8) {
      const __m256 x = _mm256_loadu_ps(values + i);
      const __m256 p = round(x);
      const __m256 difference = _mm256_fnmadd_ps(p, factor, x);
      __m256 weighted = p, weighted_difference = difference;
      if (weights != nullptr) {
        const __m256 w = _mm256_loadu_ps(weights + i);
        weighted = _mm256_mul_ps(p, w);
        weighted_difference = _mm256_mul_ps(difference, w);
      }
      xp = _mm256_fmadd_ps(x, weighted, xp);
      pp = _mm256_fmadd_ps(p, weighted, pp);
      ps = _mm256_add_ps(ps, weighted);
      error = _mm256_fmadd_ps(difference, weighted_difference, error);
    }
    total = _mm256_add_pd(total, _mm256_cvtps_pd(sums_of(xp, pp, ps, error)));
  }
  _mm256_storeu_pd(reinterpret_cast<double*>(sums), total);
}

void avx2_encode_linear(const float* values, size_t count, float scale, float low, float high,
                        int offset, unsigned char* codes) noexcept {
  const Rounding round = rounding(scale, low, high);
  const __m256i shift = _mm256_set1_epi32(offset), mask = _mm256_set1_epi32(0xff);
  for (size_t i = 0; i < count; i += 8) {
    const __m256i p = _mm256_cvtps_epi32(round(_mm256_loadu_ps(values + i)));
    const __m256i bytes = _mm256_and_si256(_mm256_add_epi32(p, shift), mask);
    const __m128i words =
        _mm_packus_epi32(_mm256_castsi256_si128(bytes), _mm256_extracti128_si256(bytes, 1));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(codes + i), _mm_packus_epi16(words, words));
  }
}

}  // namespace pippin::compress
