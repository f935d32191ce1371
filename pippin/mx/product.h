// Products of matrices in memory: what matmul and its relatives are evaluated by.
//
//   out[i] (m, n) = a[i] (m, k) · b[i] (k, n) + bias (n)      for each pair of offsets i
//
// Halves and float32 go through the project's dot kernels, which read b where its columns lie side
// by side along k (a transposed weight); else b is turned first. A single row meets a row-major b
// as it lies. Sums are float32, of float64 double.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "pippin/mx/dtype.h"

namespace pippin::mx {

struct ProductArgs {
  Dtype dtype;  // of all three: a float
  int64_t m, n, k;
  const std::byte* a;
  int64_t a_row, a_column;  // strides, in elements
  const std::byte* b;
  int64_t b_row, b_column;
  const float* bias;  // or null
  std::byte* out;     // row-major, one matrix after the other
};
// Where a and b of each product begin, in elements.
using ProductOffsets = std::array<int64_t, 2>;

void multiply_matrices(const ProductArgs& args, std::span<const ProductOffsets> offsets);

}  // namespace pippin::mx
