#include "pippin/kernels/vec/avx2.h"

namespace pippin::kernels {
namespace {

PIPPIN_VEC F evens(F a, F b) {
  const __m256d pairs = _mm256_castps_pd(_mm256_shuffle_ps(a.v, b.v, 0x88));
  return {_mm256_castpd_ps(_mm256_permute4x64_pd(pairs, 0xd8))};
}

PIPPIN_VEC I dot2(I sum, I a, I b) {
  return {_mm256_add_epi32(sum.v, _mm256_madd_epi16(a.v, b.v))};
}

}  // namespace
}  // namespace pippin::kernels

// Must come first: the headers below use these vectors.
#include "pippin/kernels/conv/tiles.h"

namespace pippin::kernels {

const ConvKernels conv_avx2 = table("conv_avx2");

}  // namespace pippin::kernels
