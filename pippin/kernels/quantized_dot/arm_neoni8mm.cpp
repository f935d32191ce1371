#include "pippin/kernels/quantized_dot/neoni8mm_tiles.h"
// Must come first: the headers below use these.
#include "pippin/kernels/quantized_dot/vector_kernels.h"

namespace pippin::kernels {

const QuantizedDotKernels quantized_dot_neoni8mm = quantized_dot_table("quantized_dot_neoni8mm");

}  // namespace pippin::kernels
