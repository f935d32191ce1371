// The processor's peak rate of 8-bit integer or fp32 multiply-adds, when nothing else slows it
// down: the reference for a prefill or a net. Each product counts as two operations: a
// multiplication and an addition.
#pragma once

#include "pippin/kernels/kernel.h"
#include "pippin/kernels/peak/args.h"

namespace pippin::kernels {

// Returns the first kernel of kernels.inc that `cpu` can run, or null. There is no scalar kernel,
// since a peak belongs to a specific instruction.
const PeakKernel* choose_peak(const CpuFeatures& cpu);
const FloatPeakKernel* choose_float_peak(const CpuFeatures& cpu);

}  // namespace pippin::kernels
