// The vectors of avx2.h for AVX-512 (F, BW, DQ, VL).
#pragma once

#include <cstdint>

#include <immintrin.h>

#include "pippin/kernels/vec/inline.h"

namespace pippin::kernels {
namespace {

constexpr int64_t kLanes = 16;
constexpr bool kManyRegisters = true;

struct F {
  __m512 v;
};
struct I {
  __m512i v;
};
struct M {
  __mmask16 v;
};
struct F4 {
  __m128 v;
};

PIPPIN_VEC __mmask16 first_lanes(int64_t n) {
  return static_cast<__mmask16>((1u << n) - 1);
}

PIPPIN_VEC F set(float x) {
  return {_mm512_set1_ps(x)};
}
PIPPIN_VEC I set_i(int32_t x) {
  return {_mm512_set1_epi32(x)};
}
PIPPIN_VEC F load(const float* p) {
  return {_mm512_loadu_ps(p)};
}
PIPPIN_VEC F load_part(const float* p, int64_t n) {
  return {_mm512_maskz_loadu_ps(first_lanes(n), p)};
}
PIPPIN_VEC void store(float* p, F x) {
  _mm512_storeu_ps(p, x.v);
}
PIPPIN_VEC void store_part(float* p, F x, int64_t n) {
  _mm512_mask_storeu_ps(p, first_lanes(n), x.v);
}
PIPPIN_VEC I load_i(const int32_t* p) {
  return {_mm512_loadu_si512(p)};
}
PIPPIN_VEC I load_part_i(const int32_t* p, int64_t n) {
  return {_mm512_maskz_loadu_epi32(first_lanes(n), p)};
}
PIPPIN_VEC void store_i(int32_t* p, I x) {
  _mm512_storeu_si512(p, x.v);
}
PIPPIN_VEC void store_part_i(int32_t* p, I x, int64_t n) {
  _mm512_mask_storeu_epi32(p, first_lanes(n), x.v);
}

PIPPIN_VEC F operator+(F a, F b) {
  return {_mm512_add_ps(a.v, b.v)};
}
PIPPIN_VEC F operator-(F a, F b) {
  return {_mm512_sub_ps(a.v, b.v)};
}
PIPPIN_VEC F operator*(F a, F b) {
  return {_mm512_mul_ps(a.v, b.v)};
}
PIPPIN_VEC F operator/(F a, F b) {
  return {_mm512_div_ps(a.v, b.v)};
}
PIPPIN_VEC F fma(F a, F b, F c) {
  return {_mm512_fmadd_ps(a.v, b.v, c.v)};
}
PIPPIN_VEC F fnma(F a, F b, F c) {
  return {_mm512_fnmadd_ps(a.v, b.v, c.v)};
}
PIPPIN_VEC F min(F a, F b) {
  return {_mm512_min_ps(a.v, b.v)};
}
PIPPIN_VEC F max(F a, F b) {
  return {_mm512_max_ps(a.v, b.v)};
}
PIPPIN_VEC F sqrt(F x) {
  return {_mm512_sqrt_ps(x.v)};
}
PIPPIN_VEC F floor(F x) {
  return {_mm512_roundscale_ps(x.v, _MM_FROUND_TO_NEG_INF)};
}
PIPPIN_VEC F ceil(F x) {
  return {_mm512_roundscale_ps(x.v, _MM_FROUND_TO_POS_INF)};
}
PIPPIN_VEC F round(F x) {
  return {_mm512_roundscale_ps(x.v, _MM_FROUND_TO_NEAREST_INT)};
}

PIPPIN_VEC M operator<(F a, F b) {
  return {_mm512_cmp_ps_mask(a.v, b.v, _CMP_LT_OQ)};
}
PIPPIN_VEC M operator<=(F a, F b) {
  return {_mm512_cmp_ps_mask(a.v, b.v, _CMP_LE_OQ)};
}
PIPPIN_VEC M operator==(F a, F b) {
  return {_mm512_cmp_ps_mask(a.v, b.v, _CMP_EQ_OQ)};
}
PIPPIN_VEC M operator<(I a, I b) {
  return {_mm512_cmplt_epi32_mask(a.v, b.v)};
}
PIPPIN_VEC M operator==(I a, I b) {
  return {_mm512_cmpeq_epi32_mask(a.v, b.v)};
}
PIPPIN_VEC M operator~(M m) {
  return {static_cast<__mmask16>(~m.v)};
}
PIPPIN_VEC M operator&(M a, M b) {
  return {static_cast<__mmask16>(a.v & b.v)};
}
PIPPIN_VEC bool any(M m) {
  return m.v != 0;
}
PIPPIN_VEC F select(M m, F a, F b) {
  return {_mm512_mask_blend_ps(m.v, b.v, a.v)};
}
PIPPIN_VEC I select(M m, I a, I b) {
  return {_mm512_mask_blend_epi32(m.v, b.v, a.v)};
}
PIPPIN_VEC void store_mask(uint8_t* p, M m) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm_maskz_set1_epi8(m.v, 1));
}
PIPPIN_VEC M load_mask(const uint8_t* p) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return {_mm_test_epi8_mask(bytes, bytes)};
}

PIPPIN_VEC I operator+(I a, I b) {
  return {_mm512_add_epi32(a.v, b.v)};
}
PIPPIN_VEC I operator-(I a, I b) {
  return {_mm512_sub_epi32(a.v, b.v)};
}
PIPPIN_VEC I operator*(I a, I b) {
  return {_mm512_mullo_epi32(a.v, b.v)};
}
PIPPIN_VEC I operator&(I a, I b) {
  return {_mm512_and_si512(a.v, b.v)};
}
PIPPIN_VEC I operator|(I a, I b) {
  return {_mm512_or_si512(a.v, b.v)};
}
PIPPIN_VEC I operator^(I a, I b) {
  return {_mm512_xor_si512(a.v, b.v)};
}
PIPPIN_VEC I min(I a, I b) {
  return {_mm512_min_epi32(a.v, b.v)};
}
PIPPIN_VEC I max(I a, I b) {
  return {_mm512_max_epi32(a.v, b.v)};
}
template <int kBits>
PIPPIN_VEC I shift_left(I x) {
  return {_mm512_slli_epi32(x.v, kBits)};
}
template <int kBits>
PIPPIN_VEC I shift_right(I x) {
  return {_mm512_srli_epi32(x.v, kBits)};
}
template <int kBits>
PIPPIN_VEC I shift_right_signed(I x) {
  return {_mm512_srai_epi32(x.v, kBits)};
}
PIPPIN_VEC I bits(F x) {
  return {_mm512_castps_si512(x.v)};
}
PIPPIN_VEC F floats(I x) {
  return {_mm512_castsi512_ps(x.v)};
}
PIPPIN_VEC I to_int(F x) {
  return {_mm512_cvtps_epi32(x.v)};
}
PIPPIN_VEC I truncate(F x) {
  return {_mm512_cvttps_epi32(x.v)};
}
PIPPIN_VEC F to_float(I x) {
  return {_mm512_cvtepi32_ps(x.v)};
}
PIPPIN_VEC F times_power_of_two(F x, F n) {
  return {_mm512_scalef_ps(x.v, n.v)};
}

PIPPIN_VEC F load_f16(const uint16_t* p) {
  return {_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)))};
}
PIPPIN_VEC F load_part_f16(const uint16_t* p, int64_t n) {
  return {_mm512_cvtph_ps(_mm256_maskz_loadu_epi16(first_lanes(n), p))};
}
PIPPIN_VEC void store_f16(uint16_t* p, F x) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p),
                      _mm512_cvtps_ph(x.v, _MM_FROUND_TO_NEAREST_INT));
}
PIPPIN_VEC F load_bf16(const uint16_t* p) {
  const __m256i half = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(half), 16))};
}
PIPPIN_VEC F load_part_bf16(const uint16_t* p, int64_t n) {
  const __m256i half = _mm256_maskz_loadu_epi16(first_lanes(n), p);
  return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(half), 16))};
}
PIPPIN_VEC void store_low_halves(uint16_t* p, I x) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtepi32_epi16(x.v));
}
PIPPIN_VEC void store_low_bytes(uint8_t* p, I x) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(x.v));
}

// The sums over the lanes of a, b, c and d.
PIPPIN_VEC F4 sum4(F a, F b, F c, F d) {
  const __m512 ab = _mm512_add_ps(_mm512_unpacklo_ps(a.v, b.v), _mm512_unpackhi_ps(a.v, b.v));
  const __m512 cd = _mm512_add_ps(_mm512_unpacklo_ps(c.v, d.v), _mm512_unpackhi_ps(c.v, d.v));
  const __m512 low =
      _mm512_castpd_ps(_mm512_unpacklo_pd(_mm512_castps_pd(ab), _mm512_castps_pd(cd)));
  const __m512 high =
      _mm512_castpd_ps(_mm512_unpackhi_pd(_mm512_castps_pd(ab), _mm512_castps_pd(cd)));
  const __m512 sum = _mm512_add_ps(low, high);  // four partial sums of a, b, c, d each
  const __m256 half = _mm256_add_ps(_mm512_castps512_ps256(sum), _mm512_extractf32x8_ps(sum, 1));
  return {_mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1))};
}
PIPPIN_VEC F4 set4(float x) {
  return {_mm_set1_ps(x)};
}
PIPPIN_VEC F4 load4(const float* p) {
  return {_mm_loadu_ps(p)};
}
PIPPIN_VEC F repeat_four(const float* p) {
  return {_mm512_broadcast_f32x4(_mm_loadu_ps(p))};
}
PIPPIN_VEC void store4(float* p, F4 x) {
  _mm_storeu_ps(p, x.v);
}
PIPPIN_VEC F4 operator+(F4 a, F4 b) {
  return {_mm_add_ps(a.v, b.v)};
}
PIPPIN_VEC F4 operator*(F4 a, F4 b) {
  return {_mm_mul_ps(a.v, b.v)};
}

// Transposes the rows.
PIPPIN_VEC void transpose(F (&x)[kLanes]) {
  __m512 pairs[16], quads[16];
#pragma GCC unroll 8
  for (int i = 0; i < 16; i += 2) {
    pairs[i] = _mm512_unpacklo_ps(x[i].v, x[i + 1].v);
    pairs[i + 1] = _mm512_unpackhi_ps(x[i].v, x[i + 1].v);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 16; i += 4) {
    for (int j = 0; j < 2; ++j) {
      const __m512d a = _mm512_castps_pd(pairs[i + j]), b = _mm512_castps_pd(pairs[i + j + 2]);
      quads[i + 2 * j] = _mm512_castpd_ps(_mm512_unpacklo_pd(a, b));
      quads[i + 2 * j + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(a, b));
    }
  }
  // quads[4i + j] has in its 128-bit lane n the elements 4n + j of the rows 4i to 4i + 3.
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    const __m512 low = _mm512_shuffle_f32x4(quads[j], quads[4 + j], 0x44);
    const __m512 high = _mm512_shuffle_f32x4(quads[j], quads[4 + j], 0xee);
    const __m512 low2 = _mm512_shuffle_f32x4(quads[8 + j], quads[12 + j], 0x44);
    const __m512 high2 = _mm512_shuffle_f32x4(quads[8 + j], quads[12 + j], 0xee);
    x[j] = {_mm512_shuffle_f32x4(low, low2, 0x88)};
    x[4 + j] = {_mm512_shuffle_f32x4(low, low2, 0xdd)};
    x[8 + j] = {_mm512_shuffle_f32x4(high, high2, 0x88)};
    x[12 + j] = {_mm512_shuffle_f32x4(high, high2, 0xdd)};
  }
}

PIPPIN_VEC float sum(F x) {
  return _mm_cvtss_f32(sum4(x, x, x, x).v);
}
PIPPIN_VEC float max_lane(F x) {
  return _mm512_reduce_max_ps(x.v);
}
PIPPIN_VEC float min_lane(F x) {
  return _mm512_reduce_min_ps(x.v);
}

}  // namespace
}  // namespace pippin::kernels
