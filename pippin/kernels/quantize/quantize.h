// The inner loops of linear quantization, w ~ (q - offset) * scale with q in a few bits: how well a
// scale fits a block, the best scales of many small blocks at once, and their codes.
//
// Promise: every kernel but the scalar one gives the same bits, so that packages are the same
// wherever they are made; codes are those of the scalar one.
#pragma once

#include "pippin/kernels/kernel.h"
#include "pippin/kernels/quantize/args.h"

namespace pippin::kernels {

// Every table that this build has, best first.
std::span<const Listed<QuantizeKernels>> quantize_kernels();
// The first table that `cpu` can run.
const QuantizeKernels& choose_quantize(const CpuFeatures& cpu);

}  // namespace pippin::kernels
