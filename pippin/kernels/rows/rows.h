// Work on rows: norms, softmax, reductions, the gate of an MLP, rotary embedding.
//
// All the functions of one instruction set are in one table. gamma, beta may be null (1 and 0).
// The result for a row does not depend on the other rows of the call.
#pragma once

#include "pippin/kernels/kernel.h"
#include "pippin/kernels/rows/args.h"

namespace pippin::kernels {

// Every table that this build has, best first.
std::span<const Listed<RowsKernels>> rows_kernels();

// The first table that `cpu` can run.
const RowsKernels& choose_rows(const CpuFeatures& cpu);

// Whether `cpu` can run it; for tests and benchmarks.

}  // namespace pippin::kernels
