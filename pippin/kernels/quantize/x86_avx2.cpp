#include "pippin/kernels/vec/avx2.h"
// The vectors come first: what follows is written in terms of them.
#include "pippin/kernels/vec/math.h"
// And the mathematics before its users.
#include "pippin/kernels/quantize/vectors.h"

namespace pippin::kernels {

const QuantizeKernels quantize_avx2 = table("quantize_avx2");

}  // namespace pippin::kernels
