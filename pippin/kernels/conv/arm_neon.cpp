#include "pippin/kernels/vec/neon.h"

namespace pippin::kernels {
namespace {

PIPPIN_VEC F evens(F a, F b) {
  return {vuzp1q_f32(a.v, b.v)};
}

PIPPIN_VEC I dot2(I sum, I a, I b) {
  const int16x8_t x = vreinterpretq_s16_s32(a.v), y = vreinterpretq_s16_s32(b.v);
  const int32x4_t low = vmull_s16(vget_low_s16(x), vget_low_s16(y));
  return {vaddq_s32(sum.v, vpaddq_s32(low, vmull_high_s16(x, y)))};
}

}  // namespace
}  // namespace pippin::kernels

// Must come first: the headers below use these vectors.
#include "pippin/kernels/conv/tiles.h"

namespace pippin::kernels {

const ConvKernels conv_neon = table("conv_neon");

}  // namespace pippin::kernels
