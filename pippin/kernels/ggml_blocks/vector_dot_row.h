// One row of activations times blocks, without unpacking them to memory, over the vectors and bytes
// of the includer (quantized_dot/), with the same order of sums (quantized_dot/vector_order.h):
//
//   blocks of four rows of W ──► codes as bytes, a chunk of columns of each ──products──► sums of units,
//   a lane for each class of units and row ──► fp32, times the scales of unit and row ──► four totals
//
// A type defines
//   kStep, kBytes   columns per step (whole chunks) and their number of bytes
//   kUnit           columns of a scale
//   kOffsets        whether units also have offsets
//   Numbers         scales and offsets of kStep columns of four rows, in lanes 4 * class + row
//   load            reads them
// and, for chunk_sums(),
//   codes<kAt>      the bytes of chunk kAt
#pragma once

#include "pippin/kernels/ggml_blocks/args.h"
#include "pippin/kernels/quantized_dot/vector_few.h"

namespace pippin::kernels {
namespace {

// Prefetch distance in each of four streams.
constexpr int64_t kBlocksAhead = 512;

constexpr int64_t kChunkColumns = 32 * kClasses;

template <int kUnits>
struct ScaleLanes {
  F scale[kUnits], offset[kUnits];
};

// For chunk kAt from p[row] on and the values from `column` on: the sums, per unit and row, of true
// codes times values. Defined by the includer.
template <typename Type, int kAt>
PIPPIN_VEC void chunk_sums(const uint8_t* const (&p)[4], const QuantizedRows& x, int64_t column,
                           I (&sums)[32 / Type::kUnit]);

template <typename Type, int kAt>
PIPPIN_VEC F add_chunks(const uint8_t* const (&p)[4], const typename Type::Numbers& numbers,
                        const QuantizedRows& x, int64_t column, F total, F (&share)[kOffsetSums]) {
  constexpr int kSums = 32 / Type::kUnit;
  const int64_t first = column / Type::kUnit * 4;
  I sums[kSums];
  chunk_sums<Type, kAt>(p, x, column, sums);
#pragma GCC unroll 2
  for (int e = 0; e < kSums; ++e) {
    const F scale = numbers.scale[kAt * kSums + e] * load(x.scales + first + e * kLanes);
    total = fma(to_float(sums[e]), scale, total);
    if constexpr (Type::kOffsets) {
      F& sum = share[(kAt * kSums + e) % kOffsetSums];
      sum = fma(numbers.offset[kAt * kSums + e], load(x.sums + first + e * kLanes), sum);
    }
  }
  if constexpr ((kAt + 1) * kChunkColumns < Type::kStep) {
    total = add_chunks<Type, kAt + 1>(p, numbers, x, column + kChunkColumns, total, share);
  }
  return total;
}

// Moves the first register after a step to the front.
template <typename Type>
PIPPIN_VEC void turn(F (&share)[kOffsetSums]) {
  constexpr int64_t kRegisters = Type::kStep / kChunkColumns * (32 / Type::kUnit);
  if constexpr (Type::kOffsets && kRegisters % kOffsetSums != 0) {
    const F before[kOffsetSums] = {share[0], share[1], share[2], share[3]};
#pragma GCC unroll 4
    for (int i = 0; i < kOffsetSums; ++i) share[i] = before[(i + kRegisters) % kOffsetSums];
  }
}

template <typename Type>
bool dot_row(const GgmlDotArgs& a) {
  const QuantizedRows& x = *a.x;
  if (x.k % Type::kStep != 0) return false;
  const int64_t row_bytes = x.k / Type::kStep * Type::kBytes;
  const RowStreams<4> streams(a.n_begin, a.n_end, row_bytes);
  for (int64_t j = 0; j < streams.length; ++j) {
    int64_t row[4];
    const uint8_t* p[4];
#pragma GCC unroll 4
    for (int c = 0; c < 4; ++c) {
      row[c] = streams.row(c, j);
      p[c] = a.w->bytes + (a.w->rows != nullptr ? a.w->rows[row[c]] : row[c]) * row_bytes;
    }
    F total = set(0), share[kOffsetSums];
#pragma GCC unroll 4
    for (int i = 0; i < kOffsetSums; ++i) share[i] = set(0);
    for (int64_t column = 0; column < x.k; column += Type::kStep) {
#pragma GCC unroll 4
      for (int c = 0; c < 4; ++c) {
#pragma GCC unroll 4
        for (int64_t at = 0; at < Type::kBytes; at += 64) {
          __builtin_prefetch(p[c] + kBlocksAhead + at);
        }
      }
      typename Type::Numbers numbers;
      Type::load(p, numbers);
      total = add_chunks<Type, 0>(p, numbers, x, column, total, share);
      turn<Type>(share);
#pragma GCC unroll 4
      for (int c = 0; c < 4; ++c) p[c] += Type::kBytes;
    }
    float sums[4], shares[4];
    store4(sums, sum_of_classes(total));
    store4(shares, sum_of_classes(add_offset_sums(share[0], share[1], share[2], share[3])));
#pragma GCC unroll 4
    for (int c = 0; c < 4; ++c) {
      float& y = a.y[row[c]];
      y = a.bias != nullptr ? sums[c] + a.bias[row[c]] : sums[c];
      if constexpr (Type::kOffsets) y -= shares[c];
    }
  }
  return true;
}

}  // namespace
}  // namespace pippin::kernels
