// How rows of W are dealt to the streams of a product with one row, or a few. Included by files
// that are compiled for one instruction set.
#pragma once

#include <cstdint>

#include "pippin/kernels/vec/inline.h"

namespace pippin::kernels {
namespace {

// Which rows of W are taken together: kStreams places of [begin, end), each read from front to
// back. Later streams are some rows further in their part than the one before: streams that lie at
// a multiple of some KB want the same places of caches and of memory.
template <int kStreams>
struct RowStreams {
  int64_t begin, end, length, shift;

  PIPPIN_VEC RowStreams(int64_t first, int64_t last, int64_t row_bytes) : begin(first), end(last) {
    constexpr int64_t kApart = 11 * 1024;
    length = (end - begin + kStreams - 1) / kStreams;
    shift = kApart / row_bytes + 1;
    if (shift * kStreams > length) shift = 0;
  }
  // Of round j < length; rows beyond the end are the last.
  PIPPIN_VEC int64_t row(int stream, int64_t j) const {
    const int64_t at = j + stream * shift;
    return smaller_of(begin + stream * length + (at < length ? at : at - length), end - 1);
  }
};

}  // namespace
}  // namespace pippin::kernels
