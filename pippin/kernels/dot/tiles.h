// dot.h over the vectors of vec/: an ISA file includes one vec header and vec/multiply.h, then
// this.
//
// Sums run along k: W is read in place, a lane of an accumulator holds every kLanes-th product, and
// lanes are added at the end of each block of kBlockK. The order is the same in every path below,
// which makes results independent of m and of the split of n.
//
//        k ──►                      one row: W streams by, see one_row().
//   x  ▒▒▒▒▒▒▒▒ kRowTile rows       few rows: one tile of rows, converting W as it is read.
//   W  ▒▒▒▒▒▒▒▒ kColumnTile rows    many rows: a block of x stays in L2, each tile of W comes
//                                   into L1 once for all rows of the block.
#pragma once

#include "pippin/kernels/dot/args.h"
#include "pippin/kernels/vec/row_streams.h"

namespace pippin::kernels {
namespace {

constexpr int64_t kBlockK = 1024;
constexpr int kColumnTile = 4;
constexpr int64_t kShortK = 64;
constexpr int64_t kBlockRows = 96;  // rows of kBlockK floats: 384 KB, for L2

// The rows of W for the columns from j on; beyond n, repeats the last row.
template <int kColumns, typename Element>
PIPPIN_VEC void weight_rows(const DotArgs& a, int64_t j, int64_t k_begin,
                            const Element* (&w)[kColumns]) {
#pragma GCC unroll 8
  for (int c = 0; c < kColumns; ++c) {
    w[c] = static_cast<const Element*>(a.w) + smaller_of(j + c, a.n - 1) * a.w_stride + k_begin;
  }
}

// Writes up to 4 columns of y; `columns` of them exist.
PIPPIN_VEC void put(float* y, F4 value, int64_t columns) {
  if (columns >= 4) {
    store4(y, value);
  } else {
    float copy[4];
    store4(copy, value);
    for (int64_t c = 0; c < columns; ++c) y[c] = copy[c];
  }
}
PIPPIN_VEC F4 get(const float* y, int64_t columns) {
  if (columns >= 4) return load4(y);
  float copy[4] = {};
  for (int64_t c = 0; c < columns; ++c) copy[c] = y[c];
  return load4(copy);
}

// One row of x reads W at the speed of memory. The columns are split into kStreams far-apart parts,
// each read sequentially as one stream: the hardware follows a few long streams well and many rows
// badly, and that number of sums hides the latency of an fma.
template <typename Weights>
void one_row(const DotArgs& a) {
  using Element = typename Weights::Element;
  constexpr int kStreams = kLanes >= 8 ? 4 : 8;
  constexpr int64_t kLine = 64 / static_cast<int64_t>(sizeof(Element));
  constexpr int64_t kAhead = 4 * kLine;  // prefetched; the hardware reads further ahead
  const RowStreams<kStreams> streams(0, a.n, a.w_stride * static_cast<int64_t>(sizeof(Element)));
  for (int64_t j = 0; j < streams.length; ++j) {
    int64_t column[kStreams];
    float sums[kStreams] = {};
#pragma GCC unroll 8
    for (int c = 0; c < kStreams; ++c) column[c] = streams.row(c, j);
    for (int64_t k_begin = 0; k_begin == 0 || k_begin < a.k; k_begin += kBlockK) {
      const int64_t k = smaller_of(kBlockK, a.k - k_begin);
      const float* x = a.x + k_begin;
      const Element* w[kStreams];
      F total[kStreams];
#pragma GCC unroll 8
      for (int c = 0; c < kStreams; ++c) {
        w[c] = static_cast<const Element*>(a.w) + column[c] * a.w_stride + k_begin;
        total[c] = set(0);
      }
      int64_t i = 0;
      for (; i + kLine <= k; i += kLine) {
#pragma GCC unroll 8
        for (int c = 0; c < kStreams; ++c) __builtin_prefetch(w[c] + i + kAhead);
#pragma GCC unroll 8
        for (int64_t l = 0; l < kLine; l += kLanes) {
          const F activation = load(x + i + l);
#pragma GCC unroll 8
          for (int c = 0; c < kStreams; ++c) {
            total[c] = fma(activation, Weights::load(w[c] + i + l), total[c]);
          }
        }
      }
      for (; i + kLanes <= k; i += kLanes) {
#pragma GCC unroll 8
        for (int c = 0; c < kStreams; ++c) {
          total[c] = fma(load(x + i), Weights::load(w[c] + i), total[c]);
        }
      }
      if (i < k) {
#pragma GCC unroll 8
        for (int c = 0; c < kStreams; ++c) {
          total[c] = fma(load_part(x + i, k - i), Weights::load_part(w[c] + i, k - i), total[c]);
        }
      }
#pragma GCC unroll 8
      for (int c = 0; c < kStreams; ++c) {
        sums[c] = k_begin == 0 ? sum(total[c]) : sums[c] + sum(total[c]);
      }
    }
    // If n is not a multiple, streams recompute the last column: the same value.
#pragma GCC unroll 8
    for (int c = 0; c < kStreams; ++c) {
      a.y[column[c]] = a.bias == nullptr ? sums[c] : sums[c] + a.bias[column[c]];
    }
  }
}

// The columns after a tile whose first one is `w`, if they form a whole tile.
template <int kColumns, typename Element>
PIPPIN_VEC Prefetch next_columns(const DotArgs& a, const Element* w, bool exist) {
  constexpr int64_t kBytes = sizeof(Element);
  if (!exist) return {};
  return {w + kColumns * a.w_stride, a.w_stride * kBytes, 8 * kBytes};
}

// All of k for kRows rows from row i on, and for every column.
template <typename Weights, int kRows, int kColumns>
void few_rows(const DotArgs& a, int64_t i) {
  const float* x = a.x + i * a.x_stride;
  float* y = a.y + i * a.y_stride;
  for (int64_t j = 0; j < a.n; j += kColumns) {
    const bool more_columns = j + 2 * kColumns <= a.n;
    F4 sums[kRows][kColumns / 4];
    const typename Weights::Element* w[kColumns];
    weight_rows(a, j, 0, w);
    multiply<Weights>(x, a.x_stride, w, smaller_of(kBlockK, a.k),
                      next_columns<kColumns>(a, w[0], more_columns), sums);
    for (int64_t k = kBlockK; k < a.k; k += kBlockK) {
      F4 more[kRows][kColumns / 4];
      weight_rows(a, j, k, w);
      multiply<Weights>(x + k, a.x_stride, w, smaller_of(kBlockK, a.k - k),
                        next_columns<kColumns>(a, w[0], more_columns), more);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
        for (int g = 0; g < kColumns / 4; ++g) sums[r][g] = sums[r][g] + more[r][g];
      }
    }
#pragma GCC unroll 8
    for (int g = 0; g < kColumns / 4; ++g) {
      const int64_t column = j + 4 * g;
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        F4 value = sums[r][g];
        if (a.bias != nullptr) value = value + get(a.bias + column, a.n - column);
        put(y + r * a.y_stride + column, value, a.n - column);
      }
    }
  }
}

// Writes or adds one block of k for kRows rows and 4 columns from j on.
template <typename Stored, int kRows>
void add_tile(const DotArgs& a, int64_t i, int64_t j, int64_t k_begin, int64_t k,
              const typename Stored::Element* const (&w)[kColumnTile], Prefetch prefetch) {
  F4 sums[kRows][1];
  multiply<Stored>(a.x + i * a.x_stride + k_begin, a.x_stride, w, k, prefetch, sums);
  const int64_t columns = a.n - j;
  const bool last = k_begin + k == a.k;
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
    float* y = a.y + (i + r) * a.y_stride + j;
    F4 value = sums[r][0];
    if (k_begin != 0) value = get(y, columns) + value;
    if (last && a.bias != nullptr) value = value + get(a.bias + j, columns);
    put(y, value, columns);
  }
}

// The same for the rows [begin, end). The tiles of rows share the prefetching of `next`: all at
// once, in the first tile, would wait for memory.
template <typename Stored>
PIPPIN_VEC void add_rows(const DotArgs& a, int64_t begin, int64_t end, int64_t j, int64_t k_begin,
                         int64_t k, const typename Stored::Element* const (&w)[kColumnTile],
                         const Prefetch& next) {
  const int64_t tiles = (end - begin + kRowTile - 1) / kRowTile;
  Prefetch prefetch = next;
  prefetch.shift = tiles >= 8 ? 3 : tiles >= 4 ? 2 : tiles >= 2 ? 1 : 0;
  const int64_t share = prefetch.bytes_of(k + kLanes);
  int64_t i = begin;
  for (; i + kRowTile <= end; i += kRowTile) {
    add_tile<Stored, kRowTile>(a, i, j, k_begin, k, w, prefetch);
    const bool done = prefetch.begin == nullptr || i - begin >= (kRowTile << prefetch.shift);
    prefetch.begin = done ? nullptr : static_cast<const char*>(prefetch.begin) + share;
  }
  switch (end - i) {
    case 5:
      return add_tile<Stored, 5>(a, i, j, k_begin, k, w, prefetch);
    case 4:
      return add_tile<Stored, 4>(a, i, j, k_begin, k, w, prefetch);
    case 3:
      return add_tile<Stored, 3>(a, i, j, k_begin, k, w, prefetch);
    case 2:
      return add_tile<Stored, 2>(a, i, j, k_begin, k, w, prefetch);
    case 1:
      return add_tile<Stored, 1>(a, i, j, k_begin, k, w, prefetch);
    default:
      return;
  }
}

// With few registers a tile has too few rows to pay for converting its weights each time.
template <typename Weights>
void add_rows_converted(const DotArgs& a, int64_t begin, int64_t end, int64_t j, int64_t k_begin,
                        int64_t k, const typename Weights::Element* const (&w)[kColumnTile],
                        const Prefetch& next) {
  alignas(64) float converted[kColumnTile][kBlockK];
  const float* tile[kColumnTile];
  for (int c = 0; c < kColumnTile; ++c) {
    tile[c] = converted[c];
    int64_t i = 0;
    for (; i + kLanes <= k; i += kLanes) {
      if (next.begin != nullptr) {
        __builtin_prefetch(static_cast<const char*>(next.begin) + c * next.column_bytes +
                           next.bytes_of(i));
      }
      store(converted[c] + i, Weights::load(w[c] + i));
    }
    if (i < k) store_part(converted[c] + i, Weights::load_part(w[c] + i, k - i), k - i);
  }
  add_rows<StoredF32>(a, begin, end, j, k_begin, k, tile, {});
}

template <typename Weights>
void many_rows(const DotArgs& a, int64_t begin, int64_t end) {
  const bool convert = !kManyRegisters && sizeof(typename Weights::Element) < sizeof(float) &&
                       end - begin >= 4 * kRowTile;
  for (int64_t k_begin = 0; k_begin == 0 || k_begin < a.k; k_begin += kBlockK) {
    const int64_t k = smaller_of(kBlockK, a.k - k_begin);
    for (int64_t j = 0; j < a.n; j += kColumnTile) {
      const typename Weights::Element* w[kColumnTile];
      weight_rows(a, j, k_begin, w);
      const Prefetch next = next_columns<kColumnTile>(a, w[0], j + 2 * kColumnTile <= a.n);
      if (convert) {
        add_rows_converted<Weights>(a, begin, end, j, k_begin, k, w, next);
      } else {
        add_rows<Weights>(a, begin, end, j, k_begin, k, w, next);
      }
    }
  }
}

// m rows in blocks of nearly equal size, each of whole tiles.
PIPPIN_VEC int64_t block_rows(int64_t m) {
  const int64_t blocks = (m + kBlockRows - 1) / kBlockRows;
  const int64_t tiles = (m + kRowTile - 1) / kRowTile;
  return (tiles + blocks - 1) / blocks * kRowTile;
}

template <typename Weights>
void dot_tiles(const DotArgs& a) {
  if (a.n == 0) return;
  switch (a.m) {
    case 0:
      return;
    case 1:
      // Streams of short rows of W are all ends.
      return a.k < kShortK ? few_rows<Weights, 1, kColumnTile>(a, 0) : one_row<Weights>(a);
    case 2:
      return few_rows<Weights, 2, kColumnTile>(a, 0);
    case 3:
      return few_rows<Weights, 3, kColumnTile>(a, 0);
    default:
      break;
  }
  if constexpr (kRowTile == 6) {
    if (a.m == 4) return few_rows<Weights, 4, kColumnTile>(a, 0);
    if (a.m == 5) return few_rows<Weights, 5, kColumnTile>(a, 0);
    if (a.m == 6) return few_rows<Weights, 6, kColumnTile>(a, 0);
  }
  const int64_t rows = block_rows(a.m);
  for (int64_t i = 0; i < a.m; i += rows) {
    many_rows<Weights>(a, i, smaller_of(i + rows, a.m));
  }
}

}  // namespace
}  // namespace pippin::kernels
