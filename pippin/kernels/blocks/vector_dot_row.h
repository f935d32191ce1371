// One row of activations times blocks as they are read, over the vectors and bytes of AVX-512
// (quantized_dot/), whose order of sums it keeps (quantized_dot/vector_order.h):
//
//   blocks of four rows of W ──► codes as bytes, 128 columns of each ──dot4──► sums of units, a lane
//   for each class of units and row ──► fp32, times the scales of unit and row ──► four totals
//
// A type brings
//   kStep, kBytes   columns that it takes at once, 128 or 256, and the bytes that they have
//   kUnit           columns of a scale
//   kLess           what its codes are above the true ones, as a share of 128: 128 >> kLess; -1: none
//   Numbers         scales and offsets of kStep columns of four rows, in lanes 4 * class + row
//   codes<c>        128 columns from c * 128 on
#pragma once

#include "pippin/kernels/blocks/args.h"
#include "pippin/kernels/quantized_dot/vector_few.h"

namespace pippin::kernels {
namespace {

// Fetched ahead in each of four streams.
constexpr int64_t kBlocksAhead = 512;

template <int kUnits>
struct ScaleLanes {
  F scale[kUnits], offset[kUnits];
};

template <typename Type, int kAt>
PIPPIN_VEC F add_chunk(const uint8_t* const (&p)[4], const typename Type::Numbers& numbers,
                       const QuantizedRows& x, int64_t column, F total) {
  constexpr int kSums = 32 / Type::kUnit;
  Chunk<AffineBytes, true, Type::kUnit> chunk;
#pragma GCC unroll 4
  for (int c = 0; c < 4; ++c) {
    B sets[2];
    Type::template codes<kAt>(p[c], sets);
    chunk.weights[c][0][0][0] = sets[0];
    chunk.weights[c][1][0][0] = sets[1];
  }
  const int8_t* values = x.values + column;
  const int64_t first = column / Type::kUnit * 4;
  I sums[kSums];
  if constexpr (kSums == 1) {
    sums[0] = join_fours(chunk.template multiply_sets<1>(0, values),
                         chunk.template multiply_sets<1>(1, values));
  } else {
#pragma GCC unroll 2
    for (int e = 0; e < kSums; ++e) sums[e] = chunk.template multiply_sets<1>(e, values);
  }
#pragma GCC unroll 2
  for (int e = 0; e < kSums; ++e) {
    if constexpr (Type::kLess >= 0) {
      sums[e] = sums[e] + shift_right_signed<Type::kLess>(load_i(x.starts + first + e * kLanes));
    }
    const F scale = numbers.scale[kAt * kSums + e] * load(x.scales + first + e * kLanes);
    total = fma(to_float(sums[e]), scale, total);
    if constexpr (Type::kOffsets) {
      total = fnma(numbers.offset[kAt * kSums + e], load(x.sums + first + e * kLanes), total);
    }
  }
  return total;
}

template <typename Type>
bool dot_row(const BlockDotArgs& a) {
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
    F total = set(0);
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
      total = add_chunk<Type, 0>(p, numbers, x, column, total);
      if constexpr (Type::kStep == 256) {
        total = add_chunk<Type, 1>(p, numbers, x, column + 128, total);
      }
#pragma GCC unroll 4
      for (int c = 0; c < 4; ++c) p[c] += Type::kBytes;
    }
    float lanes[kLanes], sums[4];
    store(lanes, total);
    F4 classes[kClasses];
#pragma GCC unroll 4
    for (int i = 0; i < kClasses; ++i) classes[i] = load4(lanes + 4 * i);
    store4(sums, add_classes(classes));
#pragma GCC unroll 4
    for (int c = 0; c < 4; ++c) {
      a.y[row[c]] = a.bias != nullptr ? sums[c] + a.bias[row[c]] : sums[c];
    }
  }
  return true;
}

}  // namespace
}  // namespace pippin::kernels
