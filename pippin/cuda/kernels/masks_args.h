// The arguments of masks.cuh.
#pragma once

#include <cstdint>

namespace pippin::cuda {

// y [groups, rows, keys], contiguous: row i is 0 for keys [0, past + i] and -inf after them.
struct CausalMaskArgs {
  float* y;
  int64_t size;
  int64_t rows, keys;
  int64_t past;
};

}  // namespace pippin::cuda
