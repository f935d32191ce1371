// Products with quantized weights, directly from their codes.
#pragma once

#include <cstdint>
#include <span>

#include "pippin/kernels/affine_dot/affine_dot.h"
#include "pippin/mx/core/dtype.h"

namespace pippin::mx {

// A matrix, and the destination of its product: (m, n), row-major.
struct QuantizedProduct {
  kernels::AffineMatrix w;
  float* y;
};
// y (m, n) = x (m, k) · Wᵀ for each product, all with the same row-major x, bits and groups; runs
// on all threads, which share the work of all products. A few rows are multiplied with the codes in
// registers; for more, some rows of W at a time are expanded and passed to the dot kernels.
void multiply_quantized(std::span<const QuantizedProduct> products, const float* x, int64_t m);

// Expands row j of W to floats.
void expand_quantized(const kernels::AffineMatrix& w, int64_t j, float* y);

}  // namespace pippin::mx
