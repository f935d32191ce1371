// A half group's codes as fp32 numbers, columns in order, for AVX2.
#pragma once

#include "pippin/kernels/e4m7/args.h"
#include "pippin/kernels/vec/avx2.h"

namespace pippin::kernels {
namespace {

PIPPIN_VEC void load_e4m7(const uint8_t* group, int half, F (&w)[8]) {
  // seee becomes s0000eee.
  const __m256i high_bytes = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, -128, -127, -126, -125, -124, -123, -122, -121));
  const __m256i odd = _mm256_set1_epi32(static_cast<int32_t>(0xffff0000));
#pragma GCC unroll 2
  for (int part = 0; part < 2; ++part) {
    const auto* bytes = reinterpret_cast<const __m256i*>(group + 32 * part);
    const __m256i low = _mm256_loadu_si256(bytes + 2 * half);
    __m256i high = _mm256_loadu_si256(bytes + 4);
    if (half != 0) high = _mm256_srli_epi16(high, 4);
    high = _mm256_shuffle_epi8(high_bytes, _mm256_and_si256(high, _mm256_set1_epi8(15)));
    const __m256i front = _mm256_unpacklo_epi8(low, high), back = _mm256_unpackhi_epi8(low, high);
    w[part] = {_mm256_castsi256_ps(_mm256_slli_epi32(front, 16))};
    w[2 + part] = {_mm256_castsi256_ps(_mm256_and_si256(front, odd))};
    w[4 + part] = {_mm256_castsi256_ps(_mm256_slli_epi32(back, 16))};
    w[6 + part] = {_mm256_castsi256_ps(_mm256_and_si256(back, odd))};
  }
}

// Prevents the compiler from reloading a value shared by several products for each of them.
PIPPIN_VEC void keep_in_register(F& x) {
  __asm__("" : "+x"(x.v));
}

}  // namespace
}  // namespace pippin::kernels
