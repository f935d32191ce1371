// OpenAI's MXFP4: blocks of 32 e2m1 numbers in 16 bytes, the first of each pair in the low half,
// and for each block a byte s that scales it by 2^(s - 127). The program stores twice their value
// as 8-bit integers, with scales of half the size: exactly the same numbers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pippin/array/array.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

// The rows to read from each matrix of the tensors NAME_blocks (matrices, stored, in / 32, 16) and
// NAME_scales (matrices, stored, in / 32).
struct Mxfp4Rows {
  std::string tensor;
  int64_t stored = 0;
  int64_t first = 0, step = 1;
};

// (matrices, rows, in), as a weight called `name`.
array::Array mxfp4_matrices(const Parameters& parameters, const std::string& name,
                            const Mxfp4Rows& rows, const std::vector<int64_t>& dims);

}  // namespace pippin::nn
