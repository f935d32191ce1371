#include "pippin/kernels/quantized_dot/neon_products.h"
// Must come first: the headers below use these products.
#include "pippin/kernels/quantized_dot/vector_tiles.h"
// Must precede its users.
#include "pippin/kernels/quantized_dot/vector_kernels.h"

namespace pippin::kernels {

const QuantizedDotKernels quantized_dot_neon = quantized_dot_table("quantized_dot_neon");

}  // namespace pippin::kernels
