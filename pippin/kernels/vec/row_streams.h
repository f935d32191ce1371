// Assigns rows of W to the streams of a product with one or a few rows. Included by files that are
// compiled for one instruction set.
#pragma once

#include <cstdint>

#include "pippin/kernels/vec/inline.h"

namespace pippin::kernels {
namespace {

// The rows of W that are processed together: kStreams parts of [begin, end), each read from front
// to back. Each stream starts some rows further into its part than the one before: streams at a
// distance of a multiple of some KB compete for the same places in caches and memory.
template <int kStreams>
struct RowStreams {
  int64_t begin, end, length, shift;

  PIPPIN_VEC RowStreams(int64_t first, int64_t last, int64_t row_bytes) : begin(first), end(last) {
    constexpr int64_t kApart = 11 * 1024;
    length = (end - begin + kStreams - 1) / kStreams;
    shift = kApart / row_bytes + 1;
    if (shift * kStreams > length) shift = 0;
  }
  // The row for round j < length; rows beyond the end repeat the last.
  PIPPIN_VEC int64_t row(int stream, int64_t j) const {
    const int64_t at = j + stream * shift;
    return smaller_of(begin + stream * length + (at < length ? at : at - length), end - 1);
  }
};

}  // namespace
}  // namespace pippin::kernels
