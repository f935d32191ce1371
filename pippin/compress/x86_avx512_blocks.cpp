#include <immintrin.h>

#include "pippin/compress/x86_blocks.h"

namespace pippin::compress {
namespace {

constexpr size_t kLanes = 16;

struct V {
  __m512 v;
};
struct Mask {
  __mmask16 v;
};

constexpr int kNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;

V set1(float x) {
  return {_mm512_set1_ps(x)};
}
V load(const float* from) {
  return {_mm512_loadu_ps(from)};
}
void store(float* to, V x) {
  _mm512_storeu_ps(to, x.v);
}
V operator+(V a, V b) {
  return {_mm512_add_ps(a.v, b.v)};
}
V operator-(V a, V b) {
  return {_mm512_sub_ps(a.v, b.v)};
}
V operator*(V a, V b) {
  return {_mm512_mul_ps(a.v, b.v)};
}
V operator/(V a, V b) {
  return {_mm512_div_ps(a.v, b.v)};
}
V min(V a, V b) {
  return {_mm512_min_ps(a.v, b.v)};
}
V max(V a, V b) {
  return {_mm512_max_ps(a.v, b.v)};
}
V fma(V a, V b, V c) {
  return {_mm512_fmadd_ps(a.v, b.v, c.v)};
}
V fnma(V a, V b, V c) {
  return {_mm512_fnmadd_ps(a.v, b.v, c.v)};
}
V round(V x) {
  return {_mm512_roundscale_ps(x.v, kNearest)};
}
Mask less(V a, V b) {
  return {_mm512_cmp_ps_mask(a.v, b.v, _CMP_LT_OQ)};
}
Mask both(Mask a, Mask b) {
  return {static_cast<__mmask16>(a.v & b.v)};
}
bool any(Mask a) {
  return a.v != 0;
}
V select(Mask mask, V yes, V no) {
  return {_mm512_mask_blend_ps(mask.v, no.v, yes.v)};
}
V abs_of(V x) {
  return {_mm512_abs_ps(x.v)};
}
V sign_of_first(V sign, V magnitude) {
  return {_mm512_or_ps(_mm512_and_ps(_mm512_set1_ps(-0.0f), sign.v), magnitude.v)};
}
V as_half(V x) {
  return {_mm512_cvtph_ps(_mm512_cvtps_ph(x.v, _MM_FROUND_TO_NEAREST_INT))};
}

// A 16x16 corner: out[i][lane] = rows[lane][first + i].
void transpose(const float* const* rows, size_t first, float* out) {
  __m512 r[kLanes], t[kLanes];
  for (size_t k = 0; k < kLanes; ++k) r[k] = _mm512_loadu_ps(rows[k] + first);
  for (size_t k = 0; k < kLanes; k += 2) {
    t[k] = _mm512_unpacklo_ps(r[k], r[k + 1]);
    t[k + 1] = _mm512_unpackhi_ps(r[k], r[k + 1]);
  }
  // r[4*q + c]: rows 4q to 4q+3 of the columns c, 4+c, 8+c, 12+c.
  for (size_t k = 0; k < kLanes; k += 4) {
    r[k] = _mm512_shuffle_ps(t[k], t[k + 2], 0x44);
    r[k + 1] = _mm512_shuffle_ps(t[k], t[k + 2], 0xee);
    r[k + 2] = _mm512_shuffle_ps(t[k + 1], t[k + 3], 0x44);
    r[k + 3] = _mm512_shuffle_ps(t[k + 1], t[k + 3], 0xee);
  }
  for (size_t c = 0; c < 4; ++c) {
    const __m512 low = _mm512_shuffle_f32x4(r[c], r[4 + c], 0x44);
    const __m512 high = _mm512_shuffle_f32x4(r[c], r[4 + c], 0xee);
    const __m512 more_low = _mm512_shuffle_f32x4(r[8 + c], r[12 + c], 0x44);
    const __m512 more_high = _mm512_shuffle_f32x4(r[8 + c], r[12 + c], 0xee);
    _mm512_storeu_ps(out + c * kLanes, _mm512_shuffle_f32x4(low, more_low, 0x88));
    _mm512_storeu_ps(out + (4 + c) * kLanes, _mm512_shuffle_f32x4(low, more_low, 0xdd));
    _mm512_storeu_ps(out + (8 + c) * kLanes, _mm512_shuffle_f32x4(high, more_high, 0x88));
    _mm512_storeu_ps(out + (12 + c) * kLanes, _mm512_shuffle_f32x4(high, more_high, 0xdd));
  }
}

#include "pippin/compress/x86_blocks.inc"

}  // namespace

void avx512_choose_scales(const float* values, const float* weights, size_t count, size_t size,
                          const BlockFormat& format, float* scratch, float* scales,
                          float* offsets) noexcept {
  choose_scales(values, weights, count, size, format, scratch, scales, offsets);
}

void avx512_pack4(const float* values, size_t count, size_t size, const BlockFormat& format,
                  const float* scales, const float* offsets, unsigned char* out,
                  BlockSums* sums) noexcept {
  const __m512i mask = _mm512_set1_epi32(15);
  const __m128i places = _mm_set1_epi16(0x1001);  // the first of two codes times 1, the other 16
  __m512 error = _mm512_setzero_ps(), energy = error;
  for (size_t block = 0; block < count; ++block) {
    const __m512 scale = _mm512_set1_ps(scales[block]);
    const __m512 inverse = _mm512_set1_ps(1 / scales[block]);
    const __m512 low = _mm512_set1_ps(format.lowest - offsets[block]);
    const __m512 high = _mm512_set1_ps(format.highest - offsets[block]);
    const __m512i offset = _mm512_set1_epi32(static_cast<int>(offsets[block]));
    for (size_t i = 0; i < size; i += 16) {
      const __m512 x = _mm512_loadu_ps(values + i);
      const V p = round({_mm512_min_ps(_mm512_max_ps(_mm512_mul_ps(x, inverse), low), high)});
      const __m512 difference = _mm512_fnmadd_ps(p.v, scale, x);
      error = _mm512_fmadd_ps(difference, difference, error);
      energy = _mm512_fmadd_ps(x, x, energy);
      const __m512i codes =
          _mm512_and_si512(_mm512_add_epi32(_mm512_cvtps_epi32(p.v), offset), mask);
      const __m128i pairs = _mm_maddubs_epi16(_mm512_cvtepi32_epi8(codes), places);
      _mm_storel_epi64(reinterpret_cast<__m128i*>(out), _mm_packus_epi16(pairs, pairs));
      out += 8;
    }
    values += size;
  }
  sums->error += static_cast<double>(_mm512_reduce_add_ps(error));
  sums->energy += static_cast<double>(_mm512_reduce_add_ps(energy));
}

void avx512_add_products(const float* factors, const float* rows, size_t stride, size_t num_rows,
                         size_t count, float* sums) noexcept {
  add_products(factors, rows, stride, num_rows, count, sums);
}

}  // namespace pippin::compress
