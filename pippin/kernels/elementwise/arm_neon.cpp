#include "pippin/kernels/vec/neon.h"
// Must come first: the headers below use these vectors.
#include "pippin/kernels/vec/math.h"
// Must precede its users.
#include "pippin/kernels/elementwise/vectors.h"

namespace pippin::kernels {

const ElementwiseKernels elementwise_neon = table("elementwise_neon");

}  // namespace pippin::kernels
