// The arguments of copy.cuh.
#pragma once

#include "pippin/cuda/kernels/axes_args.h"
#include "pippin/cuda/kernels/element.h"

namespace pippin::cuda {

struct CopyArgs {
  void* y;
  const void* x;
  Element to, from;
  Axes<2> axes;  // of y, x
};

// A matrix for each blockIdx.z, read along its columns and written along its rows.
struct TransposeArgs {
  void* y;
  const void* x;
  int32_t element_size;
  uint32_t rows, columns;   // of y, whose columns are adjacent; the rows are adjacent in x
  int64_t y_row, x_column;  // strides
  uint32_t shape[6];        // of the matrices, the innermost axis first
  int64_t strides[2][6];    // of y, x
  int32_t rank;
};
struct ConstantArgs {
  static constexpr int kMost = 8;

  void* y;
  Element to;
  int32_t count;
  int64_t values[kMost];
};

}  // namespace pippin::cuda
