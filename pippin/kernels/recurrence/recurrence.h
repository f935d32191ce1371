// What state spaces are made of: recurrences over tokens, and the short convolution before them.
//
// All the functions of one instruction set are in one table. The result for a row, and for an
// element where there are no rows, does not depend on the others of the call; that of a token
// depends on the state alone, not on how many tokens a call has; of the passes up to rounding.
#pragma once

#include "pippin/kernels/kernel.h"
#include "pippin/kernels/recurrence/args.h"

namespace pippin::kernels {

// Every table that this build has, best first.
std::span<const Listed<RecurrenceKernels>> recurrence_kernels();

// The first table that `cpu` can run.
const RecurrenceKernels& choose_recurrence(const CpuFeatures& cpu);

}  // namespace pippin::kernels
