#include "pippin/kernels/quantized_dot/avx2vnni_products.h"
// Must come first: the headers below use these products.
#include "pippin/kernels/quantized_dot/vector_tiles.h"
// Must precede its users.
#include "pippin/kernels/quantized_dot/vector_kernels.h"

namespace pippin::kernels {

const QuantizedDotKernels quantized_dot_avxvnni = quantized_dot_table("quantized_dot_avxvnni");

}  // namespace pippin::kernels
