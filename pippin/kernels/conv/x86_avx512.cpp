#include "pippin/kernels/conv/avx512_evens.h"

namespace pippin::kernels {
namespace {

PIPPIN_VEC I dot2(I sum, I a, I b) {
  return {_mm512_add_epi32(sum.v, _mm512_madd_epi16(a.v, b.v))};
}

}  // namespace
}  // namespace pippin::kernels

// Must come first: the headers below use these vectors.
#include "pippin/kernels/conv/tiles.h"

namespace pippin::kernels {

const ConvKernels conv_avx512 = table("conv_avx512");

}  // namespace pippin::kernels
