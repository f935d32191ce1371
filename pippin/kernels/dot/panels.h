// The products of many rows, over the vectors of vec/: an ISA file includes one vec header and
// vec/multiply.h, then this.
//
// Lanes are columns, so that no sum runs across a vector: W is packed once into panels of
// kPanelColumns of its rows, element by element, and an element of x is broadcast to a panel.
//
//        k ──►                       a block of k of one panel stays in L1 (16 to 24 KB), the same
//   x  ▒▒▒▒▒▒▒▒ kPanelRows rows      block of the rows of x in L2: dot_many_rows() calls with few
//   W  ▒▒▒▒▒▒▒▒ kPanelColumns rows   enough rows.
//
// A sum runs through a block of k from front to back; blocks are added in order. Both depend on k
// alone.
#pragma once

#include "pippin/kernels/dot/args.h"
#include "pippin/kernels/vec/inline.h"

namespace pippin::kernels {
namespace {

// 24 of 32 or 12 of 16 registers hold sums.
constexpr int kPanelRows = kManyRegisters ? 12 : 6;
constexpr int kPanelVectors = 2;
constexpr int64_t kPanelColumns = kPanelVectors * kLanes;
constexpr int64_t kPanelK = kPanelColumns > 16 ? 192 : 256;

PIPPIN_VEC int64_t rounded_up(int64_t value, int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

// Blocks of k of nearly the same size.
PIPPIN_VEC int64_t panel_block(int64_t k) {
  const int64_t blocks = (k + kPanelK - 1) / kPanelK;
  return blocks < 2 ? kPanelK : rounded_up((k + blocks - 1) / blocks, kLanes);
}

// Rows of W from j on, from k_begin on, as [k, kPanelColumns]; zeros beyond n.
template <typename Weights>
void pack_panel(const DotArgs& a, int64_t j, int64_t k_begin, int64_t k, float* to) {
  const auto* w = static_cast<const typename Weights::Element*>(a.w) + j * a.w_stride + k_begin;
#pragma GCC unroll 2
  for (int64_t first = 0; first < kPanelColumns; first += kLanes) {
    int64_t i = 0;
    for (; j + first + kLanes <= a.n && i + kLanes <= k; i += kLanes) {
      F x[kLanes];
#pragma GCC unroll 16
      for (int c = 0; c < kLanes; ++c) x[c] = Weights::load(w + (first + c) * a.w_stride + i);
      transpose(x);
#pragma GCC unroll 16
      for (int l = 0; l < kLanes; ++l) store(to + (i + l) * kPanelColumns + first, x[l]);
    }
    for (; i < k; i += kLanes) {
      const int64_t left = k - i;
      F x[kLanes];
      for (int64_t c = 0; c < kLanes; ++c) {
        const auto* row = w + (first + c) * a.w_stride + i;
        x[c] = j + first + c >= a.n ? set(0)
               : left >= kLanes     ? Weights::load(row)
                                    : Weights::load_part(row, left);
      }
      transpose(x);
      for (int64_t l = 0; l < kLanes && l < left; ++l) {
        store(to + (i + l) * kPanelColumns + first, x[l]);
      }
    }
  }
}

// Loads kPanelColumns columns of y or of the bias, `columns` of which exist.
PIPPIN_VEC F load_column(const float* y, int64_t columns) {
  return columns >= kLanes ? load(y) : columns > 0 ? load_part(y, columns) : set(0);
}
PIPPIN_VEC void store_column(float* y, F value, int64_t columns) {
  if (columns >= kLanes) {
    store(y, value);
  } else if (columns > 0) {
    store_part(y, value, columns);
  }
}

// Writes kRows rows of y, or adds to them if `add`; `bias` is null or points to the first column.
template <int kRows>
void panel_tile(const float* x, int64_t x_stride, const float* panel, int64_t k, const float* bias,
                bool add, float* y, int64_t y_stride, int64_t columns) {
  F total[kRows][kPanelVectors];
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int c = 0; c < kPanelVectors; ++c) total[r][c] = set(0);
  }
  for (int64_t i = 0; i < k; ++i) {
    F weights[kPanelVectors];
#pragma GCC unroll 2
    for (int c = 0; c < kPanelVectors; ++c) {
      weights[c] = load(panel + i * kPanelColumns + c * kLanes);
    }
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) {
      const F activation = set(x[r * x_stride + i]);
#pragma GCC unroll 2
      for (int c = 0; c < kPanelVectors; ++c) {
        total[r][c] = fma(activation, weights[c], total[r][c]);
      }
    }
  }
#pragma GCC unroll 2
  for (int c = 0; c < kPanelVectors; ++c) {
    const int64_t first = c * kLanes, left = columns - first;
    const F added = bias != nullptr ? load_column(bias + first, left) : set(0);
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) {
      float* to = y + r * y_stride + first;
      F value = total[r][c];
      if (add) value = load_column(to, left) + value;
      if (bias != nullptr) value = value + added;
      store_column(to, value, left);
    }
  }
}

// Handles the last rows, at most kRows of them.
template <int kRows>
void panel_rows(int64_t rows, const float* x, int64_t x_stride, const float* panel, int64_t k,
                const float* bias, bool add, float* y, int64_t y_stride, int64_t columns) {
  if (rows == kRows) {
    return panel_tile<kRows>(x, x_stride, panel, k, bias, add, y, y_stride, columns);
  }
  if constexpr (kRows > 1) {
    panel_rows<kRows - 1>(rows, x, x_stride, panel, k, bias, add, y, y_stride, columns);
  }
}

// Prefetches the next rows, a few lines at a time: all at once would wait for memory, and the
// hardware's own prefetch ends at the end of a row's block of k.
class Fetch {
 public:
  // Null: nothing.
  PIPPIN_VEC Fetch(const void* begin, int64_t row_bytes, int64_t rows, int64_t bytes)
      : begin_(static_cast<const char*>(begin)),
        row_bytes_(row_bytes),
        rows_(rows),
        bytes_(begin == nullptr ? 0 : bytes) {}
  PIPPIN_VEC int64_t lines() const { return rows_ * (bytes_ / 64 + 1); }
  PIPPIN_VEC void some(int64_t lines) {
    for (; lines > 0 && at_ < bytes_; --lines) {
      __builtin_prefetch(begin_ + row_ * row_bytes_ + at_, 0, 2);
      if (++row_ == rows_) row_ = 0, at_ += 64;
    }
  }

 private:
  const char* begin_;
  int64_t row_bytes_, rows_, bytes_;
  int64_t row_ = 0, at_ = 0;
};

template <typename Weights>
void dot_panels(const ManyRowsArgs& args) {
  const DotArgs& a = args.dot;
  constexpr int64_t kElement = sizeof(typename Weights::Element);
  const int64_t block = panel_block(a.k);
  const int64_t tiles = (a.m + kPanelRows - 1) / kPanelRows;
  const auto* w = static_cast<const typename Weights::Element*>(a.w);
  for (int64_t k_begin = 0; k_begin == 0 || k_begin < a.k; k_begin += block) {
    const int64_t k = smaller_of(block, a.k - k_begin);
    const bool last = k_begin + k == a.k;
    for (int64_t j = 0; j < a.n; j += kPanelColumns) {
      float* panel = args.packed + j * a.k + k_begin * kPanelColumns;
      const bool fetches = !args.is_packed && j + 2 * kPanelColumns <= a.n;
      Fetch next(fetches ? w + (j + kPanelColumns) * a.w_stride + k_begin : nullptr,
                 a.w_stride * kElement, kPanelColumns, k * kElement);
      const int64_t lines = tiles == 0 ? 0 : next.lines() / tiles + 1;
      if (!args.is_packed) pack_panel<Weights>(a, j, k_begin, k, panel);
      const float* bias = last && a.bias != nullptr ? a.bias + j : nullptr;
      // Tiles of nearly equal height: with very few rows, sums wait for each other.
      for (int64_t tile = 0; tile < tiles; ++tile) {
        const int64_t i = a.m * tile / tiles;
        next.some(lines);
        panel_rows<kPanelRows>(a.m * (tile + 1) / tiles - i, a.x + i * a.x_stride + k_begin,
                               a.x_stride, panel, k, bias, k_begin != 0, a.y + i * a.y_stride + j,
                               a.y_stride, a.n - j);
      }
    }
  }
}

}  // namespace
}  // namespace pippin::kernels
