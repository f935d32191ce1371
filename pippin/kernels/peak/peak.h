// How fast the processor multiplies 8-bit integers, or fp32, when nothing else slows it down: what
// a prefill, or a net, is compared with. Operations count as two per product: one multiplication
// and one addition.
#pragma once

#include "pippin/kernels/kernel.h"
#include "pippin/kernels/peak/args.h"

namespace pippin::kernels {

// The first kernel of kernels.inc that `cpu` can run, or null: there is no scalar one, since a peak
// is that of a certain instruction.
const PeakKernel* choose_peak(const CpuFeatures& cpu);
const FloatPeakKernel* choose_float_peak(const CpuFeatures& cpu);

}  // namespace pippin::kernels
