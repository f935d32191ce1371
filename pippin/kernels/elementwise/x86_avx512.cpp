#include "pippin/kernels/vec/avx512.h"
// The vectors come first: what follows is written in terms of them.
#include "pippin/kernels/vec/math.h"
// And the mathematics before its users.
#include "pippin/kernels/elementwise/vectors.h"

namespace pippin::kernels {

const ElementwiseKernels elementwise_avx512 = table("elementwise_avx512");

}  // namespace pippin::kernels
