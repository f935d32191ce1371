// y = x · Wᵀ for few rows of fp32 x and codes with a scale and a bias for each group of columns:
// how MLX stores quantized weights. Codes are read where they lie and become fp32 in registers,
// sums are fp32: nothing is rounded but sums. Where the processor multiplies bytes, codes of 4 bits
// meet x in fixed point of 23 bits for each group instead (args.h), whose rounding is of that
// order, at a third of the instructions.
//
//   y[i, j] = sum over groups g of scale[j, g] * (x[i, g] · codes[j, g]) + bias[j, g] * sum(x[i, g])
//
// Promise: y[i, j] has the same bits for every split of n over threads. Kernels differ from each
// other in the rounding of sums.
#pragma once

#include <span>

#include "pippin/kernels/affine_dot/args.h"
#include "pippin/kernels/kernel.h"

namespace pippin::kernels {

// Every table that this build has, best first.
std::span<const Listed<AffineDotKernels>> affine_dot_kernels();
// The first table that `cpu` can run.
const AffineDotKernels& choose_affine_dot(const CpuFeatures& cpu);

// Whether the kernels take the matrix.
bool can_affine_dot(const AffineMatrix& w);

// The form that `kernels.dot` wants m rows in, and the floats that it takes.
AffineRows affine_form(const AffineMatrix& w, int64_t m);
int64_t affine_floats(const AffineRows& form);
// Fills it; `memory` has affine_floats().
void prepare_affine_rows(const AffineDotKernels& kernels, const AffineMatrix& w, const float* x,
                         int64_t x_stride, float* memory, AffineRows& form);

// Split n over threads in multiples of this.
constexpr int64_t kAffineDotGrain = 4;

}  // namespace pippin::kernels
