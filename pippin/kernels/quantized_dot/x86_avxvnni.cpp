#include "pippin/kernels/quantized_dot/avx2vnni_products.h"
// The products come first: what follows is written in terms of them.
#include "pippin/kernels/quantized_dot/vector_tiles.h"
// And these before what uses them.
#include "pippin/kernels/quantized_dot/vector_kernels.h"

namespace pippin::kernels {

const QuantizedDotKernels quantized_dot_avxvnni = quantized_dot_table("quantized_dot_avxvnni");

}  // namespace pippin::kernels
