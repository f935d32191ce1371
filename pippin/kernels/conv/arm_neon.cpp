#include "pippin/kernels/vec/neon.h"
// The vectors come first: what follows is written in terms of them.
#include "pippin/kernels/conv/tiles.h"

namespace pippin::kernels {

const ConvKernels conv_neon = table("conv_neon");

}  // namespace pippin::kernels
