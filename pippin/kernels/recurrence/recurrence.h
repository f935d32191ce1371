// The building blocks of state-space models: recurrences over tokens, and the short convolution
// before.
//
// All functions for one instruction set are in one table. The result for a row (or for an element,
// without rows) does not depend on other rows in the call. A token's result depends on the
// state alone, not on the number of tokens in the call; for the passes, this holds up to rounding.
#pragma once

#include "pippin/kernels/kernel.h"
#include "pippin/kernels/recurrence/args.h"

namespace pippin::kernels {

// The tables in this build, best first.
std::span<const Listed<RecurrenceKernels>> recurrence_kernels();

// Returns the first table that `cpu` can run.
const RecurrenceKernels& choose_recurrence(const CpuFeatures& cpu);

}  // namespace pippin::kernels
