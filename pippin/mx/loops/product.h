// Matrix products in memory: the evaluation of matmul and related operations.
//
//   out[i] (m, n) = a[i] (m, k) · b[i] (k, n) + bias (n)      for each pair of offsets i
//
// Halves and float32 use the project's dot kernels, which read b in place if its columns are
// contiguous along k (a transposed weight); otherwise b is transposed first. A single row is
// multiplied with a row-major b in place. Sums are float32, or double for float64.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "pippin/mx/core/dtype.h"

namespace pippin::mx {

struct ProductArgs {
  Dtype dtype;  // of all three; floating-point
  int64_t m, n, k;
  const std::byte* a;
  int64_t a_row, a_column;  // strides, in elements
  const std::byte* b;
  int64_t b_row, b_column;
  const float* bias;  // or null
  std::byte* out;     // row-major, one matrix after another
};
// The offsets of a and b for each product, in elements.
using ProductOffsets = std::array<int64_t, 2>;

void multiply_matrices(const ProductArgs& args, std::span<const ProductOffsets> offsets);

}  // namespace pippin::mx
