#include "pippin/kernels/vec/avx2.h"
// The vectors come first: what follows is written in terms of them.
#include "pippin/kernels/conv/tiles.h"

namespace pippin::kernels {

const ConvKernels conv_avx2 = table("conv_avx2");

}  // namespace pippin::kernels
