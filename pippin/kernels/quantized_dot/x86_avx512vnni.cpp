#include "pippin/kernels/quantized_dot/avx512vnni_bytes.h"
// Must come first: the headers below use these bytes.
#include "pippin/kernels/quantized_dot/vector_tiles.h"
// Must precede its users.
#include "pippin/kernels/quantized_dot/vector_kernels.h"

namespace pippin::kernels {

const QuantizedDotKernels quantized_dot_avx512vnni =
    quantized_dot_table("quantized_dot_avx512vnni");

}  // namespace pippin::kernels
