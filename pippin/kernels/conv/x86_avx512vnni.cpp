#include "pippin/kernels/conv/avx512_evens.h"

namespace pippin::kernels {
namespace {

PIPPIN_VEC I dot2(I sum, I a, I b) {
  return {_mm512_dpwssd_epi32(sum.v, a.v, b.v)};
}

}  // namespace
}  // namespace pippin::kernels

// Must come first: the headers below use these vectors.
#include "pippin/kernels/conv/tiles.h"

namespace pippin::kernels {

const ConvKernels conv_avx512vnni = table("conv_avx512vnni");

}  // namespace pippin::kernels
