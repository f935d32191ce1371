// y = x · Wᵀ + bias with fp32 activations and plain weights: every linear layer and logits matrix
// of an fp32, fp16 or bf16 model.
//
//   y[m, n] (fp32) = x[m, k] (fp32) · W[n, k]ᵀ (fp32 | fp16 | bf16) + bias[n] (fp32 or null)
//
// W is read where it lies, usually in a mapped file: row-major, no packing, any alignment of whole
// elements. Sums are fp32 with fused multiply-add.
//
// Promise: y[i, j] has the same bits for every m, every split of n over threads and every stride;
// the order of its sum depends on k and the kernel only. (So a prefill and a decode step agree, and
// a batch of sequences decodes as each would alone.) Kernels differ from each other in rounding.
#pragma once

#include "pippin/kernels/dot/args.h"
#include "pippin/kernels/kernel.h"

namespace pippin {
class ThreadPool;
}

namespace pippin::kernels {

constexpr int64_t bytes_per_weight(WeightType type) {
  return type == WeightType::F32 ? 4 : 2;
}

using DotFunction = void (*)(const DotArgs&) noexcept;

struct DotKernel {
  const char* name;  // "dot_f16_avx512"
  WeightType weight;
  Needs needs;
  DotFunction function;
  int64_t n_grain;  // split n over threads in multiples of this
};

// Every kernel that this build has, best first.
std::span<const DotKernel> dot_kernels();

// The first kernel for `weight` that `cpu` can run.
const DotKernel& choose_dot(WeightType weight, const CpuFeatures& cpu);

// The same product for the columns [n_begin, n_end) of y only.
DotArgs dot_columns(const DotArgs& args, WeightType weight, int64_t n_begin, int64_t n_end);

// Runs the kernel with n split over the pool's threads.
void dot(ThreadPool& pool, const DotKernel& kernel, const DotArgs& args);

}  // namespace pippin::kernels
