// Products with weights in few bits, straight from their codes.
#pragma once

#include <cstdint>
#include <span>

#include "pippin/kernels/affine_dot/affine_dot.h"
#include "pippin/mx/dtype.h"

namespace pippin::mx {

// A matrix, and where its product goes: (m, n), row-major, of type `dtype`.
struct QuantizedProduct {
  kernels::AffineMatrix w;
  std::byte* out;
  Dtype dtype;
};
// out (m, n) = x (m, k) · Wᵀ for each product, all with the same x, row-major, and the same bits
// and groups; on all threads, which share the work of all products. Few rows meet the codes in
// registers; for more, rows of W are expanded some at a time and meet the dot kernels.
void multiply_quantized(std::span<const QuantizedProduct> products, const float* x, int64_t m);

// Row j of W as floats.
void expand_quantized(const kernels::AffineMatrix& w, int64_t j, float* y);

}  // namespace pippin::mx
