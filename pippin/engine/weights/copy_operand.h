// Copies of any strides, with conversion between storages: of constants when a plan is made, and in
// steps.
#pragma once

#include "pippin/base/cpu_features.h"
#include "pippin/engine/run/step.h"
#include "pippin/kernels/elementwise/elementwise.h"

namespace pippin::engine {

// Both have the same shape.
void copy_operand(const Operand& to, const Operand& from, const CpuFeatures& cpu);
// The same on all threads if there is enough work.
void copy_operand(const Operand& to, const Operand& from,
                  const kernels::ElementwiseKernels& kernels, ThreadPool& pool);

}  // namespace pippin::engine
