// Contiguous elementwise operations: the building blocks of a plan's unfused operations.
//
// All functions for one instruction set are in one table. In every function the result may be one
// of the inputs (same address), but must not overlap it otherwise; n may be 0.
//
// Accuracy of the fp32 functions against the exact result: within 1e-6 relative (4 ulp), except
// that sin and cos are within 1e-7 absolute, the far negative tails of the gelus within 1.5e-5
// relative, and results below 1e-36 may be 0. Special values follow IEEE 754 and C's <cmath>.
// The result for an element does not depend on its position.
#pragma once

#include "pippin/kernels/elementwise/args.h"
#include "pippin/kernels/kernel.h"

namespace pippin::kernels {

// The tables in this build, best first.
std::span<const Listed<ElementwiseKernels>> elementwise_kernels();

// Returns the first table that `cpu` can run.
const ElementwiseKernels& choose_elementwise(const CpuFeatures& cpu);

// Copies a strided array of rank <= kMaxCopyRank: transposes, slices, concatenations, broadcasts
// (x stride 0). Strides are in elements; element_size is 1, 2, 4 or 8.
constexpr int kMaxCopyRank = 8;
struct CopyArgs {
  const void* x;
  void* y;
  int element_size;
  int rank;
  int64_t shape[kMaxCopyRank];
  int64_t x_strides[kMaxCopyRank];
  int64_t y_strides[kMaxCopyRank];
};
void strided_copy(const CopyArgs& args) noexcept;

}  // namespace pippin::kernels
