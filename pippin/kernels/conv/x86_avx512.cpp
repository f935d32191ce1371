#include "pippin/kernels/vec/avx512.h"
// The vectors come first: what follows is written in terms of them.
#include "pippin/kernels/conv/tiles.h"

namespace pippin::kernels {

const ConvKernels conv_avx512 = table("conv_avx512");

}  // namespace pippin::kernels
