// The inner loops of linear quantization, w ~ (q - offset) * scale with q in a few bits: the error
// of a scale for a block, the best scales of many small blocks at once, and their codes.
//
// Promise: every kernel except the scalar one gives the same bits, so that packages do not depend
// on the machine; codes equal those of the scalar kernel.
#pragma once

#include "pippin/kernels/kernel.h"
#include "pippin/kernels/quantize/args.h"

namespace pippin::kernels {

// The tables in this build, best first.
std::span<const Listed<QuantizeKernels>> quantize_kernels();
// Returns the first table that `cpu` can run.
const QuantizeKernels& choose_quantize(const CpuFeatures& cpu);

}  // namespace pippin::kernels
