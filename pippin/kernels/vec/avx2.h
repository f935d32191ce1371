// The vectors that math.h and generic kernels use: AVX2 with FMA and F16C.
#pragma once

#include <cstdint>

#include <immintrin.h>

#include "pippin/kernels/vec/inline.h"

namespace pippin::kernels {
namespace {

constexpr int64_t kLanes = 8;
constexpr bool kManyRegisters = false;

struct F {
  __m256 v;
};
struct I {
  __m256i v;
};
struct M {
  __m256 v;
};
struct F4 {
  __m128 v;
};

PIPPIN_VEC __m256i first_lanes(int64_t n) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)),
                            _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

PIPPIN_VEC F set(float x) {
  return {_mm256_set1_ps(x)};
}
PIPPIN_VEC I set_i(int32_t x) {
  return {_mm256_set1_epi32(x)};
}
PIPPIN_VEC F load(const float* p) {
  return {_mm256_loadu_ps(p)};
}
PIPPIN_VEC F load_part(const float* p, int64_t n) {
  return {_mm256_maskload_ps(p, first_lanes(n))};
}
PIPPIN_VEC void store(float* p, F x) {
  _mm256_storeu_ps(p, x.v);
}
PIPPIN_VEC void store_part(float* p, F x, int64_t n) {
  _mm256_maskstore_ps(p, first_lanes(n), x.v);
}
PIPPIN_VEC I load_i(const int32_t* p) {
  return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))};
}
PIPPIN_VEC I load_part_i(const int32_t* p, int64_t n) {
  return {_mm256_maskload_epi32(p, first_lanes(n))};
}
PIPPIN_VEC void store_i(int32_t* p, I x) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), x.v);
}
PIPPIN_VEC void store_part_i(int32_t* p, I x, int64_t n) {
  _mm256_maskstore_epi32(p, first_lanes(n), x.v);
}

PIPPIN_VEC F operator+(F a, F b) {
  return {_mm256_add_ps(a.v, b.v)};
}
PIPPIN_VEC F operator-(F a, F b) {
  return {_mm256_sub_ps(a.v, b.v)};
}
PIPPIN_VEC F operator*(F a, F b) {
  return {_mm256_mul_ps(a.v, b.v)};
}
PIPPIN_VEC F operator/(F a, F b) {
  return {_mm256_div_ps(a.v, b.v)};
}
PIPPIN_VEC F fma(F a, F b, F c) {
  return {_mm256_fmadd_ps(a.v, b.v, c.v)};
}
PIPPIN_VEC F fnma(F a, F b, F c) {
  return {_mm256_fnmadd_ps(a.v, b.v, c.v)};
}
PIPPIN_VEC F min(F a, F b) {
  return {_mm256_min_ps(a.v, b.v)};
}
PIPPIN_VEC F max(F a, F b) {
  return {_mm256_max_ps(a.v, b.v)};
}
PIPPIN_VEC F sqrt(F x) {
  return {_mm256_sqrt_ps(x.v)};
}
PIPPIN_VEC F floor(F x) {
  return {_mm256_floor_ps(x.v)};
}
PIPPIN_VEC F ceil(F x) {
  return {_mm256_ceil_ps(x.v)};
}
PIPPIN_VEC F round(F x) {
  return {_mm256_round_ps(x.v, _MM_FROUND_TO_NEAREST_INT)};
}

PIPPIN_VEC M operator<(F a, F b) {
  return {_mm256_cmp_ps(a.v, b.v, _CMP_LT_OQ)};
}
PIPPIN_VEC M operator<=(F a, F b) {
  return {_mm256_cmp_ps(a.v, b.v, _CMP_LE_OQ)};
}
PIPPIN_VEC M operator==(F a, F b) {
  return {_mm256_cmp_ps(a.v, b.v, _CMP_EQ_OQ)};
}
PIPPIN_VEC M operator<(I a, I b) {
  return {_mm256_castsi256_ps(_mm256_cmpgt_epi32(b.v, a.v))};
}
PIPPIN_VEC M operator==(I a, I b) {
  return {_mm256_castsi256_ps(_mm256_cmpeq_epi32(a.v, b.v))};
}
PIPPIN_VEC M operator~(M m) {
  return {_mm256_xor_ps(m.v, _mm256_castsi256_ps(_mm256_set1_epi32(-1)))};
}
PIPPIN_VEC M operator&(M a, M b) {
  return {_mm256_and_ps(a.v, b.v)};
}
PIPPIN_VEC bool any(M m) {
  return _mm256_movemask_ps(m.v) != 0;
}
PIPPIN_VEC F select(M m, F a, F b) {
  return {_mm256_blendv_ps(b.v, a.v, m.v)};
}
PIPPIN_VEC I select(M m, I a, I b) {
  return {_mm256_blendv_epi8(b.v, a.v, _mm256_castps_si256(m.v))};
}
PIPPIN_VEC void store_mask(uint8_t* p, M m) {
  const __m256i words = _mm256_castps_si256(m.v);
  const __m128i shorts =
      _mm_packs_epi32(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
  const __m128i bytes = _mm_and_si128(_mm_packs_epi16(shorts, shorts), _mm_set1_epi8(1));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(p), bytes);
}
PIPPIN_VEC M load_mask(const uint8_t* p) {
  const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
  const __m256i zero = _mm256_cmpeq_epi32(_mm256_cvtepu8_epi32(bytes), _mm256_setzero_si256());
  return ~M{_mm256_castsi256_ps(zero)};
}

PIPPIN_VEC I operator+(I a, I b) {
  return {_mm256_add_epi32(a.v, b.v)};
}
PIPPIN_VEC I operator-(I a, I b) {
  return {_mm256_sub_epi32(a.v, b.v)};
}
PIPPIN_VEC I operator*(I a, I b) {
  return {_mm256_mullo_epi32(a.v, b.v)};
}
PIPPIN_VEC I operator&(I a, I b) {
  return {_mm256_and_si256(a.v, b.v)};
}
PIPPIN_VEC I operator|(I a, I b) {
  return {_mm256_or_si256(a.v, b.v)};
}
PIPPIN_VEC I operator^(I a, I b) {
  return {_mm256_xor_si256(a.v, b.v)};
}
PIPPIN_VEC I min(I a, I b) {
  return {_mm256_min_epi32(a.v, b.v)};
}
PIPPIN_VEC I max(I a, I b) {
  return {_mm256_max_epi32(a.v, b.v)};
}
template <int kBits>
PIPPIN_VEC I shift_left(I x) {
  return {_mm256_slli_epi32(x.v, kBits)};
}
template <int kBits>
PIPPIN_VEC I shift_right(I x) {
  return {_mm256_srli_epi32(x.v, kBits)};
}
template <int kBits>
PIPPIN_VEC I shift_right_signed(I x) {
  return {_mm256_srai_epi32(x.v, kBits)};
}
PIPPIN_VEC I bits(F x) {
  return {_mm256_castps_si256(x.v)};
}
PIPPIN_VEC F floats(I x) {
  return {_mm256_castsi256_ps(x.v)};
}
PIPPIN_VEC I to_int(F x) {
  return {_mm256_cvtps_epi32(x.v)};
}
PIPPIN_VEC I truncate(F x) {
  return {_mm256_cvttps_epi32(x.v)};
}
PIPPIN_VEC F to_float(I x) {
  return {_mm256_cvtepi32_ps(x.v)};
}
// In two steps: 2^n itself may be out of range even if the product is not.
PIPPIN_VEC F times_power_of_two(F x, F n) {
  const I whole = to_int(n);
  const I half = shift_right_signed<1>(whole);
  const F first = floats(shift_left<23>(half + set_i(127)));
  const F second = floats(shift_left<23>(whole - half + set_i(127)));
  return x * first * second;
}

PIPPIN_VEC __m128i load_halves(const uint16_t* p) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
}
PIPPIN_VEC __m128i load_part_halves(const uint16_t* p, int64_t n) {
  if (n <= 0) return _mm_setzero_si128();
  const __m128i pairs =
      _mm_cmpgt_epi32(_mm_set1_epi32(static_cast<int>(n / 2)), _mm_setr_epi32(0, 1, 2, 3));
  const __m128i last = _mm_cmpeq_epi16(_mm_set1_epi16(static_cast<int16_t>(n - 1)),
                                       _mm_setr_epi16(0, 1, 2, 3, 4, 5, 6, 7));
  return _mm_or_si128(_mm_maskload_epi32(reinterpret_cast<const int*>(p), pairs),
                      _mm_and_si128(last, _mm_set1_epi16(static_cast<int16_t>(p[n - 1]))));
}
PIPPIN_VEC F from_f16(__m128i halves) {
  return {_mm256_cvtph_ps(halves)};
}
PIPPIN_VEC F from_bf16(__m128i halves) {
  return {_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 16))};
}
PIPPIN_VEC F load_f16(const uint16_t* p) {
  return from_f16(load_halves(p));
}
PIPPIN_VEC F load_part_f16(const uint16_t* p, int64_t n) {
  return from_f16(load_part_halves(p, n));
}
PIPPIN_VEC F load_bf16(const uint16_t* p) {
  return from_bf16(load_halves(p));
}
PIPPIN_VEC F load_part_bf16(const uint16_t* p, int64_t n) {
  return from_bf16(load_part_halves(p, n));
}
PIPPIN_VEC void store_f16(uint16_t* p, F x) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_cvtps_ph(x.v, _MM_FROUND_TO_NEAREST_INT));
}
PIPPIN_VEC void store_low_halves(uint16_t* p, I x) {
  const __m256i low = _mm256_and_si256(x.v, _mm256_set1_epi32(0xffff));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p),
                   _mm_packus_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1)));
}
PIPPIN_VEC void store_low_bytes(uint8_t* p, I x) {
  const __m256i low = _mm256_and_si256(x.v, _mm256_set1_epi32(0xff));
  const __m128i halves =
      _mm_packus_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(p), _mm_packus_epi16(halves, halves));
}

// The sums over the lanes of a, b, c and d.
PIPPIN_VEC F4 sum4(F a, F b, F c, F d) {
  const __m256 ab = _mm256_add_ps(_mm256_unpacklo_ps(a.v, b.v), _mm256_unpackhi_ps(a.v, b.v));
  const __m256 cd = _mm256_add_ps(_mm256_unpacklo_ps(c.v, d.v), _mm256_unpackhi_ps(c.v, d.v));
  const __m256 low =
      _mm256_castpd_ps(_mm256_unpacklo_pd(_mm256_castps_pd(ab), _mm256_castps_pd(cd)));
  const __m256 high =
      _mm256_castpd_ps(_mm256_unpackhi_pd(_mm256_castps_pd(ab), _mm256_castps_pd(cd)));
  const __m256 sum = _mm256_add_ps(low, high);  // two partial sums of a, b, c, d each
  return {_mm_add_ps(_mm256_castps256_ps128(sum), _mm256_extractf128_ps(sum, 1))};
}
PIPPIN_VEC F4 set4(float x) {
  return {_mm_set1_ps(x)};
}
PIPPIN_VEC F4 load4(const float* p) {
  return {_mm_loadu_ps(p)};
}
PIPPIN_VEC F repeat_four(const float* p) {
  return {_mm256_broadcast_ps(reinterpret_cast<const __m128*>(p))};
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
  __m256 pairs[8], quads[8];
#pragma GCC unroll 4
  for (int i = 0; i < 8; i += 2) {
    pairs[i] = _mm256_unpacklo_ps(x[i].v, x[i + 1].v);
    pairs[i + 1] = _mm256_unpackhi_ps(x[i].v, x[i + 1].v);
  }
#pragma GCC unroll 2
  for (int i = 0; i < 8; i += 4) {
    for (int j = 0; j < 2; ++j) {
      const __m256d a = _mm256_castps_pd(pairs[i + j]), b = _mm256_castps_pd(pairs[i + j + 2]);
      quads[i + 2 * j] = _mm256_castpd_ps(_mm256_unpacklo_pd(a, b));
      quads[i + 2 * j + 1] = _mm256_castpd_ps(_mm256_unpackhi_pd(a, b));
    }
  }
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    x[j] = {_mm256_permute2f128_ps(quads[j], quads[4 + j], 0x20)};
    x[4 + j] = {_mm256_permute2f128_ps(quads[j], quads[4 + j], 0x31)};
  }
}

PIPPIN_VEC float sum(F x) {
  return _mm_cvtss_f32(sum4(x, x, x, x).v);
}
PIPPIN_VEC float max_lane(F x) {
  __m128 m = _mm_max_ps(_mm256_castps256_ps128(x.v), _mm256_extractf128_ps(x.v, 1));
  m = _mm_max_ps(m, _mm_movehl_ps(m, m));
  return _mm_cvtss_f32(_mm_max_ss(m, _mm_movehdup_ps(m)));
}
PIPPIN_VEC float min_lane(F x) {
  __m128 m = _mm_min_ps(_mm256_castps256_ps128(x.v), _mm256_extractf128_ps(x.v, 1));
  m = _mm_min_ps(m, _mm_movehl_ps(m, m));
  return _mm_cvtss_f32(_mm_min_ss(m, _mm_movehdup_ps(m)));
}

}  // namespace
}  // namespace pippin::kernels
