// GgmlBlockKernels::dot_row of all types for AVX2, with results bit-identical to the eight-lane
// kernels of quantized_dot/.
#pragma once

#include "pippin/kernels/ggml_blocks/args.h"

namespace pippin::kernels {

bool avx2_dot_row(const GgmlDotArgs& args) noexcept;

}  // namespace pippin::kernels
