// A half group's codes as fp32 numbers, columns in order, for AVX-512.
#pragma once

#include "pippin/kernels/e4m7/args.h"
#include "pippin/kernels/vec/avx512.h"

namespace pippin::kernels {
namespace {

PIPPIN_VEC void load_e4m7(const uint8_t* group, int half, F (&w)[4]) {
  // seee becomes s0000eee.
  const __m512i high_bytes = _mm512_broadcast_i32x4(
      _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, -128, -127, -126, -125, -124, -123, -122, -121));
  const __m512i low = _mm512_loadu_si512(group + 64 * half);
  __m512i high = _mm512_loadu_si512(group + 128);
  if (half != 0) high = _mm512_srli_epi16(high, 4);
  high = _mm512_shuffle_epi8(high_bytes, _mm512_and_si512(high, _mm512_set1_epi8(15)));
  const __m512i odd = _mm512_set1_epi32(static_cast<int32_t>(0xffff0000));
  const __m512i front = _mm512_unpacklo_epi8(low, high), back = _mm512_unpackhi_epi8(low, high);
  w[0] = {_mm512_castsi512_ps(_mm512_slli_epi32(front, 16))};
  w[1] = {_mm512_castsi512_ps(_mm512_and_si512(front, odd))};
  w[2] = {_mm512_castsi512_ps(_mm512_slli_epi32(back, 16))};
  w[3] = {_mm512_castsi512_ps(_mm512_and_si512(back, odd))};
}

// Prevents the compiler from reloading a value shared by several products for each of them.
PIPPIN_VEC void keep_in_register(F& x) {
  __asm__("" : "+v"(x.v));
}

}  // namespace
}  // namespace pippin::kernels
