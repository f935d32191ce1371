#include "pippin/kernels/quantized_dot/avx512vnni_bytes.h"
// The bytes come first: what follows is written in terms of them.
#include "pippin/kernels/quantized_dot/vector_tiles.h"
// And these before what uses them.
#include "pippin/kernels/quantized_dot/vector_kernels.h"

namespace pippin::kernels {

const QuantizedDotKernels quantized_dot_avx512vnni =
    quantized_dot_table("quantized_dot_avx512vnni");

}  // namespace pippin::kernels
