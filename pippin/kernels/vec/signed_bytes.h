// Signed bytes as vectors of floats, for the files of one instruction set that include its vectors
// first.
#pragma once

#include <cstdint>

namespace pippin::kernels {
namespace {

#if defined(__AVX512F__)
PIPPIN_VEC F load_i8(const int8_t* p) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return {_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(bytes))};
}
PIPPIN_VEC F load_part_i8(const int8_t* p, int64_t n) {
  const __m128i bytes = _mm_maskz_loadu_epi8(first_lanes(n), p);
  return {_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(bytes))};
}
#else
PIPPIN_VEC F load_part_i8(const int8_t* p, int64_t n) {
  int32_t copy[kLanes] = {};
  for (int64_t i = 0; i < n; ++i) copy[i] = (static_cast<uint8_t>(p[i]) ^ 0x80) - 0x80;
  return to_float(load_i(copy));
}
PIPPIN_VEC F load_i8(const int8_t* p) {
#if defined(__AVX2__)
  const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
  return {_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes))};
#else
  int32_t bits;
  __builtin_memcpy(&bits, p, sizeof(bits));
  const int8x8_t bytes = vreinterpret_s8_s32(vdup_n_s32(bits));
  return {vcvtq_f32_s32(vmovl_s16(vget_low_s16(vmovl_s8(bytes))))};
#endif
}
#endif

// Codes of quantized caches, without their scales.
struct StoredI8 {
  using Element = int8_t;
  static PIPPIN_VEC F load(const int8_t* p) { return load_i8(p); }
  static PIPPIN_VEC F load_part(const int8_t* p, int64_t n) { return load_part_i8(p, n); }
};

}  // namespace
}  // namespace pippin::kernels
