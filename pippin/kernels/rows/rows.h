// Row operations: norms, softmax, reductions, the gate of an MLP, rotary embedding.
//
// All functions for one instruction set are in one table. gamma and beta may be null (1 and 0). The
// result for a row does not depend on other rows in the call.
#pragma once

#include "pippin/kernels/kernel.h"
#include "pippin/kernels/rows/args.h"

namespace pippin::kernels {

// The tables in this build, best first.
std::span<const Listed<RowsKernels>> rows_kernels();

// Returns the first table that `cpu` can run.
const RowsKernels& choose_rows(const CpuFeatures& cpu);

}  // namespace pippin::kernels
