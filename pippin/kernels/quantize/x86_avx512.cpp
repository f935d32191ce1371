#include "pippin/kernels/vec/avx512.h"
// Must come first: the headers below use these vectors.
#include "pippin/kernels/vec/math.h"
// Must precede its users.
#include "pippin/kernels/quantize/vectors.h"

namespace pippin::kernels {

const QuantizeKernels quantize_avx512 = table("quantize_avx512");

}  // namespace pippin::kernels
