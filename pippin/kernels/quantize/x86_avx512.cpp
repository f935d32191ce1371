#include "pippin/kernels/vec/avx512.h"
// The vectors come first: what follows is written in terms of them.
#include "pippin/kernels/vec/math.h"
// And the mathematics before its users.
#include "pippin/kernels/quantize/vectors.h"

namespace pippin::kernels {

const QuantizeKernels quantize_avx512 = table("quantize_avx512");

}  // namespace pippin::kernels
