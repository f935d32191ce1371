// low_rank.h over the vectors of vec/: an ISA file includes one vec header and vec/multiply.h, then
// this.
#pragma once

#include "pippin/kernels/low_rank/args.h"

namespace pippin::kernels {
namespace {

constexpr int kPanelVectors = static_cast<int>(kLowRankColumns / kLanes);
// Rows for which a panel is converted once; their sums stay in registers.
constexpr int kRowsOfPanel = kPanelVectors == 1 ? 8 : 4;
constexpr int64_t kPanelsAhead = 4;  // prefetched

// Of kRows rows from row i on, the columns [begin, end) of the panel that starts at `column`.
template <typename Stored, int kRows>
PIPPIN_VEC void add_panel(const LowRankArgs& a, int64_t i, int64_t column, int64_t begin,
                          int64_t end) {
  const auto* panel = static_cast<const typename Stored::Element*>(a.b) + column * a.all_ranks;
  const float* t = a.t + i * a.t_stride;
  F sums[kRows][kPanelVectors];
#pragma GCC unroll 8
  for (int row = 0; row < kRows; ++row) {
#pragma GCC unroll 4
    for (int v = 0; v < kPanelVectors; ++v) sums[row][v] = set(0);
  }
  for (int64_t k = 0; k < a.count; ++k) {
    const int64_t r = a.ranks[k];
    __builtin_prefetch(panel + (kPanelsAhead * a.all_ranks + r) * kLowRankColumns);
    F b[kPanelVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kPanelVectors; ++v) {
      b[v] = Stored::load(panel + r * kLowRankColumns + v * kLanes);
    }
#pragma GCC unroll 8
    for (int row = 0; row < kRows; ++row) {
      const F factor = set(t[row * a.t_stride + r]);
#pragma GCC unroll 4
      for (int v = 0; v < kPanelVectors; ++v) sums[row][v] = fma(factor, b[v], sums[row][v]);
    }
  }
  if (end - begin == kLowRankColumns) {
#pragma GCC unroll 8
    for (int row = 0; row < kRows; ++row) {
      float* y = a.y + (i + row) * a.y_stride + begin;
#pragma GCC unroll 4
      for (int v = 0; v < kPanelVectors; ++v) {
        store(y + v * kLanes, load(y + v * kLanes) + sums[row][v]);
      }
    }
    return;
  }
  for (int row = 0; row < kRows; ++row) {
    float copy[kLowRankColumns];
    for (int v = 0; v < kPanelVectors; ++v) store(copy + v * kLanes, sums[row][v]);
    float* y = a.y + (i + row) * a.y_stride;
    for (int64_t j = begin; j < end; ++j) y[j] += copy[j - column];
  }
}

template <typename Stored>
void add_panels(const LowRankArgs& a) {
  if (a.count == 0) return;
  for (int64_t begin = a.begin; begin < a.end;) {
    const int64_t column = begin / kLowRankColumns * kLowRankColumns;
    const int64_t end = column + kLowRankColumns < a.end ? column + kLowRankColumns : a.end;
    int64_t i = 0;
    for (; i + kRowsOfPanel <= a.m; i += kRowsOfPanel) {
      add_panel<Stored, kRowsOfPanel>(a, i, column, begin, end);
    }
    for (; i + 2 <= a.m; i += 2) add_panel<Stored, 2>(a, i, column, begin, end);
    if (i < a.m) add_panel<Stored, 1>(a, i, column, begin, end);
    begin = end;
  }
}

constexpr LowRankKernels table(const char* name) {
  return {name, [](const LowRankArgs& a) noexcept { add_panels<StoredF32>(a); },
          [](const LowRankArgs& a) noexcept { add_panels<StoredF16>(a); },
          [](const LowRankArgs& a) noexcept { add_panels<StoredBF16>(a); }};
}

}  // namespace
}  // namespace pippin::kernels
