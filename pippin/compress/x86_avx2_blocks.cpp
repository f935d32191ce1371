#include <immintrin.h>

#include "pippin/compress/x86_blocks.h"

namespace pippin::compress {
namespace {

constexpr size_t kLanes = 8;

struct V {
  __m256 v;
};
struct Mask {
  __m256 v;
};

V set1(float x) {
  return {_mm256_set1_ps(x)};
}
V load(const float* from) {
  return {_mm256_loadu_ps(from)};
}
void store(float* to, V x) {
  _mm256_storeu_ps(to, x.v);
}
V operator+(V a, V b) {
  return {_mm256_add_ps(a.v, b.v)};
}
V operator-(V a, V b) {
  return {_mm256_sub_ps(a.v, b.v)};
}
V operator*(V a, V b) {
  return {_mm256_mul_ps(a.v, b.v)};
}
V operator/(V a, V b) {
  return {_mm256_div_ps(a.v, b.v)};
}
V min(V a, V b) {
  return {_mm256_min_ps(a.v, b.v)};
}
V max(V a, V b) {
  return {_mm256_max_ps(a.v, b.v)};
}
V fma(V a, V b, V c) {
  return {_mm256_fmadd_ps(a.v, b.v, c.v)};
}
V fnma(V a, V b, V c) {
  return {_mm256_fnmadd_ps(a.v, b.v, c.v)};
}
V round(V x) {
  return {_mm256_round_ps(x.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
}
Mask less(V a, V b) {
  return {_mm256_cmp_ps(a.v, b.v, _CMP_LT_OQ)};
}
Mask both(Mask a, Mask b) {
  return {_mm256_and_ps(a.v, b.v)};
}
bool any(Mask a) {
  return _mm256_movemask_ps(a.v) != 0;
}
V select(Mask mask, V yes, V no) {
  return {_mm256_blendv_ps(no.v, yes.v, mask.v)};
}
V abs_of(V x) {
  return {_mm256_andnot_ps(_mm256_set1_ps(-0.0f), x.v)};
}
V sign_of_first(V sign, V magnitude) {
  return {_mm256_or_ps(_mm256_and_ps(_mm256_set1_ps(-0.0f), sign.v), magnitude.v)};
}
V as_half(V x) {
  return {_mm256_cvtph_ps(_mm256_cvtps_ph(x.v, _MM_FROUND_TO_NEAREST_INT))};
}

// An 8x8 corner: out[i][lane] = rows[lane][first + i].
void transpose(const float* const* rows, size_t first, float* out) {
  __m256 r[kLanes], t[kLanes];
  for (size_t k = 0; k < kLanes; ++k) r[k] = _mm256_loadu_ps(rows[k] + first);
  for (size_t k = 0; k < kLanes; k += 2) {
    t[k] = _mm256_unpacklo_ps(r[k], r[k + 1]);
    t[k + 1] = _mm256_unpackhi_ps(r[k], r[k + 1]);
  }
  for (size_t k = 0; k < kLanes; k += 4) {
    r[k] = _mm256_shuffle_ps(t[k], t[k + 2], 0x44);
    r[k + 1] = _mm256_shuffle_ps(t[k], t[k + 2], 0xee);
    r[k + 2] = _mm256_shuffle_ps(t[k + 1], t[k + 3], 0x44);
    r[k + 3] = _mm256_shuffle_ps(t[k + 1], t[k + 3], 0xee);
  }
  for (size_t k = 0; k < 4; ++k) {
    _mm256_storeu_ps(out + k * kLanes, _mm256_permute2f128_ps(r[k], r[k + 4], 0x20));
    _mm256_storeu_ps(out + (k + 4) * kLanes, _mm256_permute2f128_ps(r[k], r[k + 4], 0x31));
  }
}

#include "pippin/compress/x86_blocks.inc"

double sum_of(__m256 v) {
  const __m256d pairs = _mm256_add_pd(_mm256_cvtps_pd(_mm256_castps256_ps128(v)),
                                      _mm256_cvtps_pd(_mm256_extractf128_ps(v, 1)));
  const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(pairs), _mm256_extractf128_pd(pairs, 1));
  return _mm_cvtsd_f64(two) + _mm_cvtsd_f64(_mm_unpackhi_pd(two, two));
}

}  // namespace

void avx2_choose_scales(const float* values, const float* weights, size_t count, size_t size,
                        const BlockFormat& format, float* scratch, float* scales,
                        float* offsets) noexcept {
  choose_scales(values, weights, count, size, format, scratch, scales, offsets);
}

void avx2_pack4(const float* values, size_t count, size_t size, const BlockFormat& format,
                const float* scales, const float* offsets, unsigned char* out,
                BlockSums* sums) noexcept {
  const __m256i mask = _mm256_set1_epi32(15);
  const __m128i places = _mm_set1_epi16(0x1001);  // the first of two codes times 1, the other 16
  for (size_t block = 0; block < count; ++block) {
    __m256 error = _mm256_setzero_ps(), energy = error;
    const __m256 scale = _mm256_set1_ps(scales[block]);
    const __m256 inverse = _mm256_set1_ps(1 / scales[block]);
    const __m256 low = _mm256_set1_ps(format.lowest - offsets[block]);
    const __m256 high = _mm256_set1_ps(format.highest - offsets[block]);
    const __m256i offset = _mm256_set1_epi32(static_cast<int>(offsets[block]));
    for (size_t i = 0; i < size; i += 16) {
      __m256i codes[2];
      for (int k = 0; k < 2; ++k) {
        const __m256 x = _mm256_loadu_ps(values + i + 8 * k);
        const V p = round({_mm256_min_ps(_mm256_max_ps(_mm256_mul_ps(x, inverse), low), high)});
        const __m256 difference = _mm256_fnmadd_ps(p.v, scale, x);
        error = _mm256_fmadd_ps(difference, difference, error);
        energy = _mm256_fmadd_ps(x, x, energy);
        codes[k] = _mm256_and_si256(_mm256_add_epi32(_mm256_cvtps_epi32(p.v), offset), mask);
      }
      const __m256i words = _mm256_permute4x64_epi64(_mm256_packus_epi32(codes[0], codes[1]), 0xd8);
      const __m128i bytes =
          _mm_packus_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
      const __m128i pairs = _mm_maddubs_epi16(bytes, places);
      _mm_storel_epi64(reinterpret_cast<__m128i*>(out), _mm_packus_epi16(pairs, pairs));
      out += 8;
    }
    values += size;
    sums->error += sum_of(error);
    sums->energy += sum_of(energy);
  }
}

void avx2_add_products(const float* factors, const float* rows, size_t stride, size_t num_rows,
                       size_t count, float* sums) noexcept {
  add_products(factors, rows, stride, num_rows, count, sums);
}

}  // namespace pippin::compress
