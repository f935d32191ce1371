// The functions that tiles.h needs in addition to AVX-512's vectors.
#pragma once

#include "pippin/kernels/vec/avx512.h"

namespace pippin::kernels {
namespace {

PIPPIN_VEC F evens(F a, F b) {
  const __m512i lanes =
      _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  return {_mm512_permutex2var_ps(a.v, lanes, b.v)};
}

}  // namespace
}  // namespace pippin::kernels
