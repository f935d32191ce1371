// A few rows of activations times 4-bit codes, over the vectors and products of the includer. As in
// vector_few.h, W is read once and a lane has a unit of columns and a row of W, but the codes of
// four rows are transposed when they are read, once for all rows of x:
//
//   four rows of W      a0 a1 a2 a3 ...   b0 b1 b2 b3 ...   (a0: eight columns, 4 bytes)
//   transposed          a0 b0 c0 d0 ...   a1 b1 c1 d1 ...
//   x for those         x0 x0 x0 x0 ...   x1 x1 x1 x1 ...   of the even columns, then of the odd ones
//
// so the sums of a unit stay in one lane, and none are added across lanes. Two fours of rows share
// the loads of x. The order of sums is that of vector_order.h.
#pragma once

#include "pippin/kernels/quantized_dot/vector_few.h"

namespace pippin::kernels {
namespace {

constexpr int kTurnedFours = 2;
constexpr int kTurnedColumns = 4 * kTurnedFours;

// A chunk of eight rows of W.
struct TurnedNibbles {
  B codes[2][4][kTurnedFours];  // of even and odd columns

  PIPPIN_VEC void start(const AffineNibbles& form, const B (&rows)[kTurnedColumns]) {
#pragma GCC unroll 2
    for (int f = 0; f < kTurnedFours; ++f) {
      F fours[4];
#pragma GCC unroll 4
      for (int c = 0; c < 4; ++c) fours[c] = floats(words(rows[4 * f + c]));
      transpose_fours(fours);
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) form.cut(bytes(bits(fours[i])), codes[0][i][f], codes[1][i][f]);
    }
  }

  template <int kFour>
  PIPPIN_VEC void add(B even, B odd, NibbleSum (&sums)[kTurnedFours]) const {
    const B x = repeat_four_of<kFour>(even), next = repeat_four_of<kFour>(odd);
#pragma GCC unroll 2
    for (int f = 0; f < kTurnedFours; ++f) {
      sums[f].add(codes[0][kFour][f], x);
      sums[f].add(codes[1][kFour][f], next);
    }
  }

  PIPPIN_VEC void multiply(const int8_t* values, I start, I (&sums)[kTurnedFours]) const {
    const B even = load_bytes(values), odd = load_bytes(values + 64);
    const B x = repeat_four_of<0>(even), next = repeat_four_of<0>(odd);
    NibbleSum products[kTurnedFours];
#pragma GCC unroll 2
    for (int f = 0; f < kTurnedFours; ++f) {
      products[f].start(start, codes[0][0][f], x);
      products[f].add(codes[1][0][f], next);
    }
    add<1>(even, odd, products);
    add<2>(even, odd, products);
    add<3>(even, odd, products);
#pragma GCC unroll 2
    for (int f = 0; f < kTurnedFours; ++f) sums[f] = products[f].total();
  }
};

// All rows of x, up to kFewNibbleRows, times eight rows of W. kShared: see multiply_few.
template <bool kBlocks, bool kShared>
void multiply_turned(const QuantizedDotArgs& a, const int64_t (&column)[kTurnedColumns]) {
  using Chunk = kernels::Chunk<AffineNibbles, kBlocks, 32>;
  constexpr int64_t kStepChunks = 4, kChunkBytes = Chunk::kColumns / 2;
  constexpr int64_t kChunkNumbers = Chunk::kColumns / 32 * 4;
  const QuantizedMatrix& w = *a.w;
  const QuantizedRows& x = *a.x;
  const int64_t row_numbers = x.padded / 32 * 4, row_bytes = x.k / 2, rows = x.m;
  const int64_t chunks = (x.k + Chunk::kColumns - 1) / Chunk::kColumns;
  const Blocks blocks(w, kShared ? w.block_columns : 32);
  AffineNibbles form;
  form.start(w, 0);
  const uint8_t* p[kTurnedColumns];
  int64_t base[kTurnedColumns];
#pragma GCC unroll 8
  for (int c = 0; c < kTurnedColumns; ++c) {
    p[c] = w.codes + column[c] * row_bytes;
    base[c] = first_block(w, column[c]);
  }
  F total[kTurnedFours][kFewNibbleRows];
  for (int64_t r = 0; r < rows; ++r) {
#pragma GCC unroll 2
    for (int f = 0; f < kTurnedFours; ++f) total[f][r] = set(0);
  }
  StepScales<Chunk> scales[kTurnedFours];
  // For shared blocks: as in multiply_few.
  int64_t read = 0, block = 0, column_in_block = 0;
  for (int64_t i = 0; i < chunks; ++i) {
    const int64_t at = i % kStepChunks, byte = i * kChunkBytes, left = row_bytes - byte;
    if constexpr (kBlocks) {
      int64_t first = i * (Chunk::kColumns / 32);
      bool inside = first + kStepChunks * Chunk::kColumns / 32 <= w.blocks_per_row;
      bool ends = at == 0;
      if constexpr (kShared) {
        ends = block == 0 && column_in_block == 0;
        first = read;
        inside = read + kLanes <= w.blocks_per_row;
        read += ends ? kLanes : 0;
      }
      if (ends) {
#pragma GCC unroll 2
        for (int f = 0; f < kTurnedFours; ++f) {
          int64_t of_rows[4];
          for (int c = 0; c < 4; ++c) of_rows[c] = base[4 * f + c];
          scales[f].load(blocks, of_rows, first, inside);
        }
      }
    }
    B codes[kTurnedColumns];
#pragma GCC unroll 8
    for (int c = 0; c < kTurnedColumns; ++c) {
      B pairs[1][1];
      load_set(NibblePairs(), p[c] + byte, left, pairs);
      codes[c] = pairs[0][0];
      // One prefetch per line of 64 bytes.
      if (kChunkBytes > 32 || i % 2 == 0) __builtin_prefetch(p[c] + byte + kAheadBytes);
    }
    TurnedNibbles now;
    now.start(form, codes);
    F of_w[kTurnedFours];
#pragma GCC unroll 2
    for (int f = 0; f < kTurnedFours; ++f) {
      of_w[f] = !kBlocks ? set(1) : kShared ? scales[f].of_block(block) : scales[f].scale[at][0];
    }
    const int8_t* values = x.values + value_place<2>(i * Chunk::kColumns);
    const int32_t* starts = x.starts + i * kChunkNumbers;
    const float* of_x = x.scales + i * kChunkNumbers;
    for (int64_t r = 0; r < rows; ++r) {
      I sums[kTurnedFours];
      now.multiply(values, load_i(starts), sums);
      const F scale = load(of_x);
#pragma GCC unroll 2
      for (int f = 0; f < kTurnedFours; ++f) {
        total[f][r] = fma(to_float(sums[f]), kBlocks ? of_w[f] * scale : scale, total[f][r]);
      }
      values += x.padded;
      starts += row_numbers;
      of_x += row_numbers;
    }
    if constexpr (kShared) {
      column_in_block += Chunk::kColumns;
      if (column_in_block >= w.block_columns) {
        column_in_block = 0;
        block = block + 1 < kLanes ? block + 1 : 0;
      }
    }
  }
  finish_few<kBlocks>(a, rows, column, total);
}

template <bool kBlocks, bool kShared>
void turned_rows(const QuantizedDotArgs& a) {
  const RowStreams<kTurnedColumns> streams(a.n_begin, a.n_end, a.x->k / 2);
  for (int64_t j = 0; j < streams.length; ++j) {
    int64_t column[kTurnedColumns];
#pragma GCC unroll 8
    for (int c = 0; c < kTurnedColumns; ++c) column[c] = streams.row(c, j);
    multiply_turned<kBlocks, kShared>(a, column);
  }
}
template <bool kBlocks>
void turned_rows(const QuantizedDotArgs& a) {
  if constexpr (kBlocks) {
    constexpr int64_t kColumns = Chunk<AffineNibbles, kBlocks, 32>::kColumns;
    if (a.w->block_columns > 32 && a.w->block_columns % kColumns == 0) {
      return turned_rows<kBlocks, true>(a);
    }
  }
  return turned_rows<kBlocks, false>(a);
}

}  // namespace
}  // namespace pippin::kernels
