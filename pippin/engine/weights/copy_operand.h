// Copies of any strides, which convert between storages: of constants when a plan is made, and for
// steps.
#pragma once

#include "pippin/base/cpu_features.h"
#include "pippin/engine/run/step.h"
#include "pippin/kernels/elementwise/elementwise.h"

namespace pippin::engine {

// Of one shape.
void copy_operand(const Operand& to, const Operand& from, const CpuFeatures& cpu);
// The same on all threads where there is enough of it.
void copy_operand(const Operand& to, const Operand& from,
                  const kernels::ElementwiseKernels& kernels, ThreadPool& pool);

}  // namespace pippin::engine
