#include "pippin/kernels/vec/neon.h"
// The vectors come first: what follows is written in terms of them.
#include "pippin/kernels/vec/math.h"
// And the mathematics before its users.
#include "pippin/kernels/quantize/vectors.h"

namespace pippin::kernels {

const QuantizeKernels quantize_neon = table("quantize_neon");

}  // namespace pippin::kernels
