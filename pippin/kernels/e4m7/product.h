// e4m7.h over the vectors of vec/: an ISA file includes one vec header, vec/multiply.h, dot/tiles.h
// and its codes (a function load_e4m7), then this.
//
// Sums run in dot/'s order, so results are those of the same weights as fp16, bit for bit.
#pragma once

#include "pippin/kernels/dot/tiles.h"
#include "pippin/kernels/e4m7/args.h"

namespace pippin::kernels {
namespace {

constexpr int64_t kHalfGroup = kE4M7Group / 2;
constexpr int kHalfVectors = static_cast<int>(kHalfGroup / kLanes);
static_assert(kBlockK % kE4M7Group == 0);

PIPPIN_VEC const uint8_t* group_of(const E4M7Matrix& w, int64_t row, int64_t column) {
  return w.codes + row * w.row_bytes + column / kE4M7Group * kE4M7GroupBytes;
}

// What lies `ahead` of where rows are read.
template <int kRows>
PIPPIN_VEC void prefetch_groups(const uint8_t* const (&group)[kRows], int64_t ahead) {
#pragma GCC unroll 8
  for (int c = 0; c < kRows; ++c) {
#pragma GCC unroll 4
    for (int line = 0; line < 3; ++line) __builtin_prefetch(group[c] + ahead + 64 * line);
  }
}

// One group's columns of kStreams rows; where x ends, `x` is a copy with zeros behind it.
template <int kStreams>
PIPPIN_VEC void add_group(const float* x, const uint8_t* const (&group)[kStreams],
                          const F (&scale)[kStreams], F (&total)[kStreams]) {
  constexpr int64_t kAheadBytes = 256;  // prefetched; the hardware reads further ahead
  prefetch_groups(group, kAheadBytes);
#pragma GCC unroll 2
  for (int half = 0; half < 2; ++half) {
#pragma GCC unroll 8
    for (int c = 0; c < kStreams; ++c) {
      F w[kHalfVectors];
      load_e4m7(group[c], half, w);
#pragma GCC unroll 16
      for (int v = 0; v < kHalfVectors; ++v) {
        total[c] = fma(load(x + half * kHalfGroup + v * kLanes), w[v] * scale[c], total[c]);
      }
    }
  }
}

// One row of x reads W at the speed of memory, see dot/tiles.h.
void one_e4m7_row(const E4M7Args& a) {
  constexpr int kStreams = kManyRegisters ? 4 : 2;
  const E4M7Matrix& matrix = *a.w;
  const int64_t whole = matrix.k / kE4M7Group * kE4M7Group;
  alignas(64) float tail[kE4M7Group] = {};
  for (int64_t i = whole; i < matrix.k; ++i) tail[i - whole] = a.x[i];
  const RowStreams<kStreams> streams(a.n_begin, a.n_end, matrix.row_bytes);
  for (int64_t j = 0; j < streams.length; ++j) {
    int64_t row[kStreams];
    float sums[kStreams];
    F scale[kStreams];
#pragma GCC unroll 8
    for (int c = 0; c < kStreams; ++c) {
      row[c] = streams.row(c, j);
      scale[c] = set(matrix.scales[row[c]]);
    }
    for (int64_t k_begin = 0; k_begin == 0 || k_begin < matrix.k; k_begin += kBlockK) {
      const uint8_t* group[kStreams];
      F total[kStreams];
#pragma GCC unroll 8
      for (int c = 0; c < kStreams; ++c) {
        group[c] = group_of(matrix, row[c], k_begin);
        total[c] = set(0);
      }
      const int64_t k_end = smaller_of(k_begin + kBlockK, matrix.k);
      for (int64_t i = k_begin; i < k_end; i += kE4M7Group) {
        add_group(i < whole ? a.x + i : tail, group, scale, total);
#pragma GCC unroll 8
        for (int c = 0; c < kStreams; ++c) group[c] += kE4M7GroupBytes;
      }
#pragma GCC unroll 8
      for (int c = 0; c < kStreams; ++c) {
        sums[c] = k_begin == 0 ? sum(total[c]) : sums[c] + sum(total[c]);
      }
    }
#pragma GCC unroll 8
    for (int c = 0; c < kStreams; ++c) {
      a.y[row[c]] = a.bias == nullptr ? sums[c] : sums[c] + a.bias[row[c]];
    }
  }
}

// A few rows of x: W is read and becomes fp32 once, in registers. Two columns at a time share what
// is loaded of x.
template <int kRows, int kColumns>
void few_e4m7_rows(const E4M7Args& a) {
  const E4M7Matrix& matrix = *a.w;
  const int64_t whole = matrix.k / kE4M7Group * kE4M7Group;
  alignas(64) float tail[kRows][kE4M7Group] = {};
  for (int r = 0; r < kRows; ++r) {
    for (int64_t i = whole; i < matrix.k; ++i) tail[r][i - whole] = a.x[r * a.x_stride + i];
  }
  for (int64_t j = a.n_begin; j < a.n_end; j += kColumns) {
    const int64_t columns = smaller_of(a.n_end - j, kColumns);
    F4 sums[kRows];
    F scale[kColumns];
    const uint8_t* group[kColumns];
#pragma GCC unroll 8
    for (int c = 0; c < kColumns; ++c) {
      const int64_t row = smaller_of(j + c, a.n_end - 1);
      group[c] = group_of(matrix, row, 0);
      scale[c] = set(matrix.scales[row]);
    }
    for (int64_t k_begin = 0; k_begin == 0 || k_begin < matrix.k; k_begin += kBlockK) {
      F total[kRows][kColumns];
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
        for (int c = 0; c < kColumns; ++c) total[r][c] = set(0);
      }
      const int64_t k_end = smaller_of(k_begin + kBlockK, matrix.k);
      for (int64_t i = k_begin; i < k_end; i += kE4M7Group) {
        const float* x = i < whole ? a.x + i : tail[0];
        const int64_t x_stride = i < whole ? a.x_stride : kE4M7Group;
        prefetch_groups(group, kColumns * matrix.row_bytes);
#pragma GCC unroll 2
        for (int half = 0; half < 2; ++half) {
#pragma GCC unroll 2
          for (int c = 0; c < kColumns; c += 2) {
            F w[2][kHalfVectors];
            load_e4m7(group[c], half, w[0]);
            load_e4m7(group[c + 1], half, w[1]);
#pragma GCC unroll 16
            for (int v = 0; v < kHalfVectors; ++v) {
              const F first = w[0][v] * scale[c], second = w[1][v] * scale[c + 1];
#pragma GCC unroll 8
              for (int r = 0; r < kRows; ++r) {
                const F activation = load(x + r * x_stride + half * kHalfGroup + v * kLanes);
                total[r][c] = fma(activation, first, total[r][c]);
                total[r][c + 1] = fma(activation, second, total[r][c + 1]);
              }
            }
          }
        }
#pragma GCC unroll 8
        for (int c = 0; c < kColumns; ++c) group[c] += kE4M7GroupBytes;
      }
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        const F4 more =
            sum4(total[r][0], total[r][1], total[r][kColumns - 2], total[r][kColumns - 1]);
        sums[r] = k_begin == 0 ? more : sums[r] + more;
      }
    }
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      if (a.bias != nullptr) sums[r] = sums[r] + get(a.bias + j, columns);
      put(a.y + r * a.y_stride + j, sums[r], columns);
    }
  }
}

// Several rows of x: each tile of W becomes fp32 once for a block of them.
void many_e4m7_rows(const E4M7Args& a, const DotArgs& floats, int64_t begin, int64_t end) {
  const E4M7Matrix& matrix = *a.w;
  // Rows of x are often a multiple of 4 KB apart: what is as well would want their place in L1.
  constexpr int64_t kApart = 5 * 16;
  alignas(64) float tile[kColumnTile][kBlockK + kApart];
  const float* columns[kColumnTile];
  for (int c = 0; c < kColumnTile; ++c) columns[c] = tile[c];
  for (int64_t k_begin = 0; k_begin == 0 || k_begin < matrix.k; k_begin += kBlockK) {
    const int64_t k = smaller_of(kBlockK, matrix.k - k_begin);
    for (int64_t j = 0; j < floats.n; j += kColumnTile) {
      for (int c = 0; c < kColumnTile; ++c) {
        const int64_t row = a.n_begin + smaller_of(j + c, floats.n - 1);
        const uint8_t* group = group_of(matrix, row, k_begin);
        const F scale = set(matrix.scales[row]);
        for (int64_t i = 0; i < k; i += kE4M7Group, group += kE4M7GroupBytes) {
#pragma GCC unroll 2
          for (int half = 0; half < 2; ++half) {
            F w[kHalfVectors];
            load_e4m7(group, half, w);
#pragma GCC unroll 16
            for (int v = 0; v < kHalfVectors; ++v) {
              store(tile[c] + i + half * kHalfGroup + v * kLanes, w[v] * scale);
            }
          }
        }
      }
      Prefetch next;
      if (j + 2 * kColumnTile <= floats.n) {
        next = {group_of(matrix, a.n_begin + j + kColumnTile, k_begin), matrix.row_bytes,
                8 * kE4M7GroupBytes / kE4M7Group};
      }
      add_rows<StoredF32>(floats, begin, end, j, k_begin, k, columns, next);
    }
  }
}

void many_e4m7_blocks(const E4M7Args& a) {
  const float* bias = a.bias == nullptr ? nullptr : a.bias + a.n_begin;
  const DotArgs floats = {a.x, a.x_stride,          nullptr, 0, bias, a.y + a.n_begin, a.y_stride,
                          a.m, a.n_end - a.n_begin, a.w->k};
  const int64_t rows = block_rows(a.m);
  for (int64_t i = 0; i < a.m; i += rows) {
    many_e4m7_rows(a, floats, i, smaller_of(i + rows, a.m));
  }
}

void multiply_e4m7(const E4M7Args& a) {
  if (a.m == 1) return one_e4m7_row(a);
  // Registers for sums and for two columns' weights.
  if constexpr (kRowTile == 6 && kHalfVectors == 4) {
    switch (a.m) {
      case 2:
        return few_e4m7_rows<2, 4>(a);
      case 3:
        return few_e4m7_rows<3, 4>(a);
      case 4:
        return few_e4m7_rows<4, 4>(a);
      default:
        break;
    }
  }
  many_e4m7_blocks(a);
}

void dot_e4m7(const E4M7Args& a) {
  if (a.n_begin >= a.n_end || a.m == 0) return;
  multiply_e4m7(a);
  add_e4m7_exceptions(a);
}

}  // namespace
}  // namespace pippin::kernels
