// How rows of activations are dealt to tiles. Included by files that are compiled for one
// instruction set.
#pragma once

#include <cstdint>

#include "pippin/kernels/vec/inline.h"
#include "pippin/kernels/vec/row_streams.h"

namespace pippin::kernels {
namespace {

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
