// What all ways of multiplying few rows of activations share, over the vectors and bytes of the
// includer: W is read once, from front to back, and multiplied as it is decoded.
//
//   codes ──► bytes ──dot──► int32 lanes, each a sum of neighbouring columns of one unit ──► fp32
//   ──fma──► kLanes sums of the row, added up at its end
//
// Sums of bytes start at -center * the sum of the activations, so that the bytes' center needs no
// work in the loop; the high bytes of palettes come first and are shifted before the low ones; the
// offsets of blocks are a product of their own, one fma for each kLanes units.
#pragma once

#include "pippin/kernels/quantized_dot/vector_codes.h"

namespace pippin::kernels {
namespace {

constexpr int64_t kFewRows = 4;

// Prefetched in each stream: into the first cache no more than it can have on its way; the hardware
// reads further ahead.
constexpr int64_t kAheadBytes = 256;

// Of each row of x that a product takes; of four the last may stand in for an absent one.
template <int kRows>
struct FewRows {
  int64_t at[kRows];
  PIPPIN_VEC explicit FewRows(const QuantizedRows& x) {
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) at[r] = r < 3 ? r : smaller_of(r, x.m - 1);
  }
};

// The part of a row's result that its blocks' offsets make, for each row of x. Once a row of W: no
// need of a copy in every loop.
template <int kRows>
__attribute__((noinline)) void sum_offsets(const Blocks& blocks, int64_t base,
                                           const float* const (&x_sums)[kRows], int64_t units,
                                           float (&result)[kRows]) {
  F total[kRows];
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) total[r] = set(0);
  for (int64_t u = 0; u < units; u += kLanes) {
    const BlockSpan span(blocks, u);
    const F both = span.scales(base) * span.offsets(base);
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) total[r] = fma(both, load(x_sums[r] + u), total[r]);
  }
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) result[r] = sum(total[r]);
}

// Writes the results of kColumns rows of W, whose sums over lanes are `total`.
template <bool kBlocks, int64_t kUnit, int kRows, int kColumns>
PIPPIN_VEC void finish_rows(const QuantizedDotArgs& a, const FewRows<kRows>& row,
                            const int64_t (&column)[kColumns], const Blocks& blocks,
                            const F (&total)[kColumns][kRows]) {
  const QuantizedMatrix& w = *a.w;
  const QuantizedRows& x = *a.x;
  const int64_t units = x.padded / kUnit;
  const bool has_offsets = w.offset_type != OffsetType::None;
  const float* x_sums[kRows];
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) x_sums[r] = x.sums + row.at[r] * units;
#pragma GCC unroll 8
  for (int c = 0; c < kColumns; ++c) {
    float offsets[kRows] = {};
    if constexpr (kBlocks) {
      if (has_offsets) sum_offsets(blocks, first_block(w, column[c]), x_sums, units, offsets);
    }
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      float y = sum(total[c][r]);
      if constexpr (kBlocks) {
        y -= offsets[r];
      } else {
        if (has_offsets) {
          F sums = set(0);
          for (int64_t u = 0; u < units; u += kLanes) sums = sums + load(x_sums[r] + u);
          y = __builtin_fmaf(-row_offset(w, column[c]), sum(sums), y);
        }
        y *= row_scale(w, column[c]);
      }
      a.y[row.at[r] * a.y_stride + column[c]] = a.bias != nullptr ? y + a.bias[column[c]] : y;
    }
  }
}

// kRows rows of x times kColumns rows of W: the includer's.
template <typename Codes, bool kBlocks, int64_t kUnit, int kRows, int kColumns>
PIPPIN_VEC void multiply_codes(const QuantizedDotArgs& a, const int64_t (&column)[kColumns]);

template <typename Codes, bool kBlocks, int64_t kUnit, int kRows, int kColumns>
void few_rows(const QuantizedDotArgs& a) {
  const RowStreams<kColumns> streams(a.n_begin, a.n_end, a.x->k * Codes::kBits / 8);
  for (int64_t j = 0; j < streams.length; ++j) {
    int64_t column[kColumns];
#pragma GCC unroll 8
    for (int c = 0; c < kColumns; ++c) column[c] = streams.row(c, j);
    multiply_codes<Codes, kBlocks, kUnit, kRows, kColumns>(a, column);
  }
}

}  // namespace
}  // namespace pippin::kernels
