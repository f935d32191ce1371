// The arguments of sort.cuh.
#pragma once

#include <cstdint>

namespace pippin::cuda {

// The first k elements of each sorted row of n; values may be null. Strides are between rows.
struct SortArgs {
  static constexpr int kMostOfChunk = 4096;

  int32_t* indices;
  uint32_t* values;
  const void* x;  // of 4 bytes
  int64_t index_stride, value_stride, x_stride;
  int64_t rows, n, k;
  bool integers, ascending;

  // A row of more than `chunk` elements (a power of 2) is sorted in chunks, whose first keys, up to
  // `kept` of them, go to `keys` [rows, chunks * kept].
  int64_t chunk, chunks, kept;
  uint64_t* keys;
};
// Runs of 2 ^ level chunks each, `length` apart (so many keys, or less at the end of a row), become
// runs twice as long, `merged_length` apart.
struct MergeArgs {
  uint64_t* to;
  const uint64_t* from;
  int64_t row_keys;  // between rows
  int64_t rows, n, k, chunk;
  int64_t runs, length, merged_length;
  int32_t level;
};

}  // namespace pippin::cuda
