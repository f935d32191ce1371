// The arguments of rows.cuh.
#pragma once

#include <cstdint>

namespace pippin::cuda {

// A block for each of `rows` rows of `columns` elements; strides are between rows, in elements.
struct NormArgs {
  float* y;
  const float* x;
  const float* gamma;  // [columns], or null
  const float* beta;
  int64_t y_stride, x_stride;
  int64_t rows, columns;
  float epsilon;
};

}  // namespace pippin::cuda
