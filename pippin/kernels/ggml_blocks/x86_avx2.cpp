#include "pippin/kernels/vec/avx2.h"
// Must come first: the headers below use these vectors.
#include "pippin/kernels/ggml_blocks/avx2_dot.h"

namespace pippin::kernels {
namespace {

struct B {
  __m256i v;
};

PIPPIN_VEC __m128i load_16(const void* p) {
  return _mm_loadu_si128(static_cast<const __m128i*>(p));
}
PIPPIN_VEC B load_b(const void* p) {
  return {_mm256_loadu_si256(static_cast<const __m256i*>(p))};
}
PIPPIN_VEC B load_b_twice(const void* p) {
  return {_mm256_broadcastsi128_si256(load_16(p))};
}
PIPPIN_VEC void store_b(void* p, B x) {
  _mm256_storeu_si256(static_cast<__m256i*>(p), x.v);
}
PIPPIN_VEC B set_b(uint8_t x) {
  return {_mm256_set1_epi8(static_cast<char>(x))};
}
PIPPIN_VEC B operator&(B a, B b) {
  return {_mm256_and_si256(a.v, b.v)};
}
PIPPIN_VEC B operator|(B a, B b) {
  return {_mm256_or_si256(a.v, b.v)};
}
PIPPIN_VEC B operator-(B a, B b) {
  return {_mm256_sub_epi8(a.v, b.v)};
}
template <int kBits>
PIPPIN_VEC B shift_b(B x) {
  if constexpr (kBits >= 0) {
    return {_mm256_srli_epi16(x.v, kBits)};
  } else {
    return {_mm256_slli_epi16(x.v, -kBits)};
  }
}
PIPPIN_VEC B halves(B low, B high) {
  return {_mm256_blend_epi32(low.v, high.v, 0xf0)};
}
PIPPIN_VEC B bits_b(const uint8_t* p) {
  int32_t word;
  __builtin_memcpy(&word, p, sizeof(word));
  const __m256i index =
      _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303);
  const __m256i places = _mm256_set1_epi64x(static_cast<int64_t>(0x8040201008040201));
  const __m256i bytes = _mm256_shuffle_epi8(_mm256_set1_epi32(word), index);
  return {_mm256_cmpeq_epi8(_mm256_and_si256(bytes, places), places)};
}
PIPPIN_VEC B look_up_b(const int8_t* table, B codes) {
  return {_mm256_shuffle_epi8(load_b_twice(table).v, codes.v)};
}
PIPPIN_VEC float half(const uint8_t* p) {
  uint16_t bits;
  __builtin_memcpy(&bits, p, sizeof(bits));
  return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(bits)));
}
PIPPIN_VEC F widen(const uint8_t* p) {
  const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
  return {_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes))};
}

}  // namespace
}  // namespace pippin::kernels

#include "pippin/kernels/ggml_blocks/vector_unpack.h"

namespace pippin::kernels {

const GgmlBlockKernels ggml_blocks_avx2 = {"ggml_blocks_avx2", unpack, avx2_dot_row};

}  // namespace pippin::kernels
