#include "pippin/kernels/vec/avx512.h"

namespace pippin::kernels {
namespace {

PIPPIN_VEC F evens(F a, F b) {
  const __m512i lanes =
      _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  return {_mm512_permutex2var_ps(a.v, lanes, b.v)};
}

PIPPIN_VEC I dot2(I sum, I a, I b) {
  return {_mm512_add_epi32(sum.v, _mm512_madd_epi16(a.v, b.v))};
}

}  // namespace
}  // namespace pippin::kernels

// The vectors come first: what follows is written in terms of them.
#include "pippin/kernels/conv/tiles.h"

namespace pippin::kernels {

const ConvKernels conv_avx512 = table("conv_avx512");

}  // namespace pippin::kernels
