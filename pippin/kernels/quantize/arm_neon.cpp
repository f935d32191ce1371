#include "pippin/kernels/vec/neon.h"
// Must come first: the headers below use these vectors.
#include "pippin/kernels/vec/math.h"
// Must precede its users.
#include "pippin/kernels/quantize/vectors.h"

namespace pippin::kernels {

const QuantizeKernels quantize_neon = table("quantize_neon");

}  // namespace pippin::kernels
