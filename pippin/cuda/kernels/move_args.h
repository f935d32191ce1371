// The arguments of move.cuh. Arrays have no gaps, and a thread for each element of y.
#pragma once

#include <cstdint>

namespace pippin::cuda {

// start + i * step, of floats or int32.
struct RangeArgs {
  void* y;
  const void *start, *step;
  int64_t count;
  bool integers;
};
// y and x [matrices, rows, columns]: 0 outside the band.
struct BandArgs {
  void* y;
  const void* x;
  int64_t rows, columns, count;
  int64_t lower, upper;  // negative: all
  int32_t element_size;
};
// y and x [batch, size, slice].
struct ReverseArgs {
  void* y;
  const void* x;
  const int32_t* lengths;
  uint32_t* failed;
  int64_t length_stride;
  int64_t size, slice, count;
  int32_t element_size;
};
// y [outer, picks, inner], x [outer, size, inner]; `part` and `second` may be null.
struct PickArgs {
  float* y;
  const float* x;
  const int64_t *first, *second;
  const float* part;
  int64_t picks, size, inner, count;
};
// y [rows, columns], rows `y_stride` apart.
struct OneHotArgs {
  void* y;
  const int32_t* indices;
  int64_t y_stride, index_stride, columns, count;
  uint32_t on, off;  // bits of an element
  int32_t element_size;
};
// Totals along the middle axis of x [outer, size, inner], in double precision or as integers that
// wrap around: a warp for each line if `by_warps`, else a thread.
struct TotalsArgs {
  void* y;
  const void* x;
  int64_t lines, size, inner;  // lines: outer * inner
  int64_t x_strides[3];
  bool integers, exclusive, reverse, by_warps;
};

}  // namespace pippin::cuda
