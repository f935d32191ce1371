#include "pippin/kernels/vec/neon.h"

namespace pippin::kernels {
namespace {

PIPPIN_VEC F evens(F a, F b) {
  return {vuzp1q_f32(a.v, b.v)};
}

}  // namespace
}  // namespace pippin::kernels

// The vectors come first: what follows is written in terms of them.
#include "pippin/kernels/conv/tiles.h"

namespace pippin::kernels {

const ConvKernels conv_neon = table("conv_neon");

}  // namespace pippin::kernels
