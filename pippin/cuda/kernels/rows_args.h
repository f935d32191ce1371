// The arguments of rows.cuh and reduce.cuh.
#pragma once

#include <cstdint>

namespace pippin::cuda {

// Rows of `columns` elements; strides are between rows, in elements.
struct RowsArgs {
  int64_t y_stride, x_stride;
  int64_t rows, columns;
  bool by_warps;  // a row for each warp; otherwise for each block
  bool vectors;   // rows begin at multiples of 16 bytes
};

struct NormArgs {
  float* y;
  const float* x;
  const float* gamma;  // [columns], or null
  const float* beta;
  RowsArgs rows;
  float epsilon;
};
// gamma and beta of row i are those of channel i % channels.
struct InstanceNormArgs {
  float* y;
  const float* x;
  const float *gamma, *beta;
  int64_t channels;
  RowsArgs rows;
  float epsilon;
};
struct L2NormArgs {
  float* y;
  const float* x;
  RowsArgs rows;
  double epsilon;
};
struct SoftmaxArgs {
  float* y;
  const float* x;
  RowsArgs rows;
};

enum class Reduction : uint8_t {
  Sum,
  Mean,
  Max,
  Min,
  SumOfSquares,
  LogSumExp,
  L1,
  L2,
  LogSum,
  Product,
};
// Of floats or int32. Integers wrap around as an integer type of so many bits does.
struct ReduceArgs {
  void* y;
  const void* x;
  RowsArgs rows;
  Reduction op;
  bool integers;
  bool is_signed;
  int32_t bits;
};
// y: int32.
struct ArgArgs {
  int32_t* y;
  const void* x;
  RowsArgs rows;
  bool integers, smallest;
};

// x [outer, channels, inner] without gaps; y is like it.
struct LocalResponseArgs {
  float* y;
  const float* x;
  int64_t channels, inner, count;
  int64_t before, after;  // channels, around each
  double alpha, k;
  float beta;
};

}  // namespace pippin::cuda
