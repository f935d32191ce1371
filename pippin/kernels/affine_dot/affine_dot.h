// y = x · Wᵀ for a few rows of fp32 x and quantized W with a scale and a bias per group of columns,
// as MLX stores quantized weights. Codes are read in place and become fp32 in registers; only the
// fp32 sums are rounded. On processors that multiply bytes, 4-bit codes are instead multiplied with
// x in 23-bit fixed point per group (args.h): a rounding error of the same order, at a third of the
// instructions.
//
//   y[i, j] = sum over groups g of scale[j, g] * (x[i, g] · codes[j, g]) + bias[j, g] * sum(x[i, g])
//
// Promise: y[i, j] is bitwise the same for every split of n over threads. Kernels differ in the
// rounding of sums.
#pragma once

#include <span>

#include "pippin/kernels/affine_dot/args.h"
#include "pippin/kernels/kernel.h"

namespace pippin::kernels {

// The tables in this build, best first.
std::span<const Listed<AffineDotKernels>> affine_dot_kernels();
// Returns the first table that `cpu` can run.
const AffineDotKernels& choose_affine_dot(const CpuFeatures& cpu);

// Whether the kernels support the matrix.
bool can_affine_dot(const AffineMatrix& w);

// The form of m rows that `kernels.dot` needs, and the number of floats for it.
AffineRows affine_form(const AffineMatrix& w, int64_t m);
int64_t affine_floats(const AffineRows& form);
// Fills the form; `memory` has affine_floats() floats.
void prepare_affine_rows(const AffineDotKernels& kernels, const AffineMatrix& w, const float* x,
                         int64_t x_stride, float* memory, AffineRows& form);

// Split n over threads in multiples of this.
constexpr int64_t kAffineDotGrain = 4;

}  // namespace pippin::kernels
