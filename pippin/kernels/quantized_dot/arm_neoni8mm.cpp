#include "pippin/kernels/quantized_dot/neoni8mm_tiles.h"
// These come first: what follows is written in terms of them.
#include "pippin/kernels/quantized_dot/vector_kernels.h"

namespace pippin::kernels {

const QuantizedDotKernels quantized_dot_neoni8mm = quantized_dot_table("quantized_dot_neoni8mm");

}  // namespace pippin::kernels
