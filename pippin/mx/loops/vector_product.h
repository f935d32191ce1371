// One row times a row-major matrix: y (n) = x (k) · b (k, n) + bias, in float32.
#pragma once

#include <cstdint>

#include "pippin/mx/core/dtype.h"

namespace pippin::mx {

struct VectorProductArgs {
  const float* x;
  const std::byte* b;
  Dtype b_type;   // float32 or a half
  int64_t b_row;  // elements between rows
  int64_t k, n;
  const float* bias;  // or null
  float* y;
};
void multiply_vector(const VectorProductArgs& args);

}  // namespace pippin::mx
