// How rows of activations are dealt to tiles, and those of W to streams. Included by files that are
// compiled for one instruction set, after its vectors (vec/).
#pragma once

#include <cstdint>

#include "pippin/kernels/vec/inline.h"

namespace pippin::kernels {
namespace {

PIPPIN_VEC int64_t smaller_of(int64_t a, int64_t b) {
  return a < b ? a : b;
}

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

template <int kCount>
struct Rows {
  static constexpr int value = kCount;
};

// Calls tile(Rows<r>, i) for tiles of r rows from row i on that cover m > 4 rows: as many as tiles
// of kMost rows would be, about equally large. The last begins earlier where it would not be full,
// and its first rows are computed twice, to the same values: so few sizes have to be compiled.
template <int kMost, typename Tile>
PIPPIN_VEC void for_row_tiles(int64_t m, const Tile& tile) {
  static_assert(kMost == 3 || kMost == 6);
  const int64_t tiles = (m + kMost - 1) / kMost, rows = (m + tiles - 1) / tiles;
  for (int64_t t = 0; t < tiles; ++t) {
    const int64_t i = smaller_of(t * rows, m - rows);
    if constexpr (kMost > 3) {
      if (rows == 4) {
        tile(Rows<4>{}, i);
        continue;
      }
      if (rows == 5) {
        tile(Rows<5>{}, i);
        continue;
      }
    }
    tile(Rows<kMost>{}, i);
  }
}

}  // namespace
}  // namespace pippin::kernels
