// Products with weights in few bits, straight from their codes.
#pragma once

#include <cstdint>

#include "pippin/kernels/affine_dot/affine_dot.h"

namespace pippin::mx {

// y (m, n) = x (m, k) · Wᵀ, both row-major, on all threads. Few rows meet the codes in
// registers; for more, rows of W are expanded some at a time and meet the dot kernels.
void multiply_quantized(const kernels::AffineMatrix& w, const float* x, int64_t m, float* y);

// Row j of W as floats.
void expand_quantized(const kernels::AffineMatrix& w, int64_t j, float* y);

}  // namespace pippin::mx
