// e4m7.h over the vectors of vec/: an ISA file includes one vec header, vec/multiply.h, dot/tiles.h
// and its codes (a function load_e4m7), then this.
//
// Sums use dot/'s order, so results equal those of the same weights as fp16, bit for bit. A few
// rows of x are lifted by a power of two and multiplied with the codes directly, which saves
// multiplying each with its row's scale; for more rows, tiles of W are unpacked to fp32.
#pragma once

#include "pippin/kernels/dot/tiles.h"
#include "pippin/kernels/e4m7/args.h"

namespace pippin::kernels {
namespace {

constexpr int64_t kHalfGroup = kE4M7Group / 2;
constexpr int kHalfVectors = static_cast<int>(kHalfGroup / kLanes);
constexpr int64_t kAheadBytes = 256;  // prefetch distance; the hardware reads further
static_assert(kBlockK % kE4M7Group == 0);

PIPPIN_VEC const uint8_t* group_of(const E4M7Matrix& w, int64_t row, int64_t column) {
  return w.codes + row * w.row_bytes + column / kE4M7Group * kE4M7GroupBytes;
}

// Prefetches `ahead` of the position in each row.
template <int kRows>
PIPPIN_VEC void prefetch_groups(const uint8_t* const (&group)[kRows], int64_t ahead) {
#pragma GCC unroll 8
  for (int c = 0; c < kRows; ++c) {
#pragma GCC unroll 4
    for (int line = 0; line < 3; ++line) __builtin_prefetch(group[c] + ahead + 64 * line);
  }
}

// x times a power of two that makes its largest number about 2^60: products with codes, which are
// less than 2^-110, and their sums stay normal numbers.
PIPPIN_VEC float lift_row(const float* x, int64_t k, float* lifted) {
  const I magnitude = set_i(0x7fffffff);
  F largest = set(0);
  int64_t i = 0;
  for (; i + kLanes <= k; i += kLanes)
    largest = max(floats(bits(load(x + i)) & magnitude), largest);
  if (i < k) largest = max(floats(bits(load_part(x + i, k - i)) & magnitude), largest);
  const auto exponent = static_cast<int64_t>(__builtin_bit_cast(uint32_t, max_lane(largest)) >> 23);
  // The exponents of both powers, biased as in fp32. An infinity cannot be lifted.
  const int64_t up = exponent == 255 ? 127 : smaller_of(127 + 60 + 127 - exponent, 253);
  const F factor = set(__builtin_bit_cast(float, static_cast<uint32_t>(up << 23)));
  for (i = 0; i + kLanes <= k; i += kLanes) store(lifted + i, load(x + i) * factor);
  if (i < k) {
    store(lifted + i, load_part(x + i, k - i) * factor);
    i += kLanes;
  }
  for (; i < k || i % kE4M7Group != 0; i += kLanes) store(lifted + i, set(0));
  return __builtin_bit_cast(float, static_cast<uint32_t>((254 - up) << 23));
}

void lift_rows(const float* x, int64_t x_stride, int64_t m, int64_t k,
               E4M7Lifted& lifted) noexcept {
  for (int64_t i = 0; i < m; ++i) {
    lifted.back[i] = lift_row(x + i * x_stride, k, lifted.rows + i * lifted.stride);
  }
}

// One row of x reads W at the speed of memory, see dot/tiles.h.
void one_e4m7_row(const E4M7Args& a) {
  constexpr int kStreams = kManyRegisters ? 4 : 2;
  const E4M7Matrix& matrix = *a.w;
  const RowStreams<kStreams> streams(a.n_begin, a.n_end, matrix.row_bytes);
  for (int64_t j = 0; j < streams.length; ++j) {
    int64_t row[kStreams];
    float sums[kStreams];
#pragma GCC unroll 8
    for (int c = 0; c < kStreams; ++c) row[c] = streams.row(c, j);
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
        prefetch_groups(group, kAheadBytes);
#pragma GCC unroll 2
        for (int half = 0; half < 2; ++half) {
          const float* x = a.lifted->rows + i + half * kHalfGroup;
#pragma GCC unroll 8
          for (int c = 0; c < kStreams; ++c) {
            F w[kHalfVectors];
            load_e4m7(group[c], half, w);
#pragma GCC unroll 16
            for (int v = 0; v < kHalfVectors; ++v) {
              total[c] = fma(load(x + v * kLanes), w[v], total[c]);
            }
          }
        }
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
      const float y = sums[c] * matrix.scales[row[c]] * a.lifted->back[0];
      a.y[row[c]] = a.bias == nullptr ? y : y + a.bias[row[c]];
    }
  }
}

// Rows of W processed together (the last one repeats if there are fewer) and the prefetch distance
// in each.
struct TileRows {
  int64_t row[kColumnTile];
  int64_t ahead_bytes;
};

// kRows rows of x, from row i on, and a tile. Two rows of W at a time share the loaded x. This call
// prefetches `share` of `shares`.
template <int kRows>
void few_rows_of_tile(const E4M7Args& a, int64_t i, const TileRows& tile, int64_t share,
                      int64_t shares) {
  const E4M7Matrix& matrix = *a.w;
  const int64_t x_stride = a.lifted->stride;
  const float* rows = a.lifted->rows + i * x_stride;
  F4 sums[kRows];
  const uint8_t* group[kColumnTile];
#pragma GCC unroll 8
  for (int c = 0; c < kColumnTile; ++c) group[c] = group_of(matrix, tile.row[c], 0);
  for (int64_t k_begin = 0; k_begin == 0 || k_begin < matrix.k; k_begin += kBlockK) {
    F total[kRows][kColumnTile];
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
      for (int c = 0; c < kColumnTile; ++c) total[r][c] = set(0);
    }
    const int64_t k_end = smaller_of(k_begin + kBlockK, matrix.k);
    for (int64_t l = k_begin; l < k_end; l += kE4M7Group) {
      if (share == 0) prefetch_groups(group, tile.ahead_bytes);
      share = share == 0 ? shares - 1 : share - 1;
#pragma GCC unroll 2
      for (int half = 0; half < 2; ++half) {
        const float* x = rows + l + half * kHalfGroup;
#pragma GCC unroll 2
        for (int c = 0; c < kColumnTile; c += 2) {
          F w[2][kHalfVectors];
          load_e4m7(group[c], half, w[0]);
          load_e4m7(group[c + 1], half, w[1]);
#pragma GCC unroll 16
          for (int v = 0; v < kHalfVectors; ++v) {
#pragma GCC unroll 8
            for (int r = 0; r < kRows; ++r) {
              F activation = load(x + r * x_stride + v * kLanes);
              keep_in_register(activation);
              total[r][c] = fma(activation, w[0][v], total[r][c]);
              total[r][c + 1] = fma(activation, w[1][v], total[r][c + 1]);
            }
          }
        }
      }
#pragma GCC unroll 8
      for (int c = 0; c < kColumnTile; ++c) group[c] += kE4M7GroupBytes;
    }
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const F4 more = sum4(total[r][0], total[r][1], total[r][2], total[r][3]);
      sums[r] = k_begin == 0 ? more : sums[r] + more;
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
    float of_row[kColumnTile];
    store4(of_row, sums[r]);
    float* y = a.y + (i + r) * a.y_stride;
    for (int c = 0; c < kColumnTile; ++c) {
      const int64_t row = tile.row[c];
      const float product = of_row[c] * matrix.scales[row] * a.lifted->back[i + r];
      y[row] = a.bias == nullptr ? product : product + a.bias[row];
    }
  }
}

void few_rows_of_tile(const E4M7Args& a, const TileRows& tile) {
  const int64_t shares = (a.m + 3) / 4;
  for (int64_t share = 0; share < shares; ++share) {
    const int64_t i = 4 * share;
    switch (a.m - i) {
      case 1:
        few_rows_of_tile<1>(a, i, tile, share, shares);
        break;
      case 2:
        few_rows_of_tile<2>(a, i, tile, share, shares);
        break;
      case 3:
        few_rows_of_tile<3>(a, i, tile, share, shares);
        break;
      default:
        few_rows_of_tile<4>(a, i, tile, share, shares);
    }
  }
}

// A few rows of x: four at a time use a tile of W, which stays in L1 meanwhile. If one pass is
// enough, W is read as by one row; otherwise each pass prefetches a part of the next tile. Needs
// kFewRows.
[[maybe_unused]] void few_e4m7_rows(const E4M7Args& a) {
  TileRows tile;
  if (a.m <= 4) {
    const RowStreams<kColumnTile> streams(a.n_begin, a.n_end, a.w->row_bytes);
    tile.ahead_bytes = kAheadBytes;
    for (int64_t j = 0; j < streams.length; ++j) {
      for (int c = 0; c < kColumnTile; ++c) tile.row[c] = streams.row(c, j);
      few_rows_of_tile(a, tile);
    }
    return;
  }
  tile.ahead_bytes = kColumnTile * a.w->row_bytes;
  for (int64_t j = a.n_begin; j < a.n_end; j += kColumnTile) {
    for (int c = 0; c < kColumnTile; ++c) tile.row[c] = smaller_of(j + c, a.n_end - 1);
    few_rows_of_tile(a, tile);
  }
}

// Several rows of x: each tile of W is converted to fp32 once per block of them.
void many_e4m7_rows(const E4M7Args& a, const DotArgs& floats, int64_t begin, int64_t end) {
  const E4M7Matrix& matrix = *a.w;
  // Rows of x are often a multiple of 4 KB apart; without this distance the tile's rows would
  // compete with them for the same places in L1.
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

// The registers suffice for the sums of a few rows and for two columns' weights.
constexpr bool kFewRows = kRowTile == 6 && kHalfVectors == 4;

void multiply_e4m7(const E4M7Args& a) {
  if (a.m == 1) return one_e4m7_row(a);
  if constexpr (kFewRows) {
    if (a.m <= kMostLiftedRows) return few_e4m7_rows(a);
  }
  many_e4m7_blocks(a);
}

void dot_e4m7(const E4M7Args& a) noexcept {
  if (a.n_begin >= a.n_end || a.m == 0) return;
  multiply_e4m7(a);
  add_e4m7_exceptions(a);
}

constexpr E4M7Kernels e4m7_table(const char* name) {
  return {name, kFewRows ? kMostLiftedRows : 1, lift_rows, dot_e4m7};
}

}  // namespace
}  // namespace pippin::kernels
