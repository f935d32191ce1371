// A few rows of activations, over the vectors and products of the includer: W is read once, from
// front to back, and multiplied while it is decoded.
//
//   codes of four rows of W ──► bytes ──dot──► int32 lanes, each a sum of neighbouring columns of one
//   unit ──add_fours──► a lane for each unit and row of W ──► fp32 ──fma──► a sum for each row of W
//   and class of units (vector_order.h)
//
// Sums of bytes start without the bytes' center, which -center * the sum of the activations
// subtracts; the high bytes of palettes come first and are shifted before the low ones are added.
#pragma once

#include "pippin/kernels/quantized_dot/vector_codes.h"
#include "pippin/kernels/quantized_dot/vector_order.h"

namespace pippin::kernels {
namespace {

// The number of rows handled this way. In tiles, which first lay W out, a row costs less. They pay
// off early with 64 bytes to a register, where there is little other work, and late with palettes,
// which are laid out as two bytes, and with 4-bit codes in the way of vector_turned.h.
constexpr int64_t kFewRows = kLanes == 8 ? 16 : kLanes == 16 ? 10 : 8, kFewPaletteRows = 16;
constexpr int64_t kFewNibbleRows = kLanes == 4 ? 8 : 16;
template <typename Codes>
constexpr int64_t kFewRowsOf = Codes::kPalette   ? kFewPaletteRows
                               : Codes::kNibbles ? kFewNibbleRows
                                                 : kFewRows;

// Whether vector_turned.h multiplies kLeastTurned rows and more.
template <typename Codes, int64_t kUnit>
constexpr bool kTurns = Codes::kNibbles && (kUnit == 32) && (kLanes > 4);
constexpr int64_t kLeastTurned = kLanes == 16 ? 3 : 6;

// Prefetch distance in each stream: into the first-level cache no more than it can have in flight;
// the hardware reads further ahead.
constexpr int64_t kAheadBytes = 256;

// Adds each pair of neighbouring fours of a and b.
PIPPIN_VEC I join_fours(I a, I b) {
  F even, odd;
  split_fours(floats(a), floats(b), even, odd);
  return bits(even) + bits(odd);
}
PIPPIN_VEC void split_fours(I a, I b, I& even, I& odd) {
  F even_lanes, odd_lanes;
  split_fours(floats(a), floats(b), even_lanes, odd_lanes);
  even = bits(even_lanes);
  odd = bits(odd_lanes);
}

// Rearranges the numbers of kLanes units for four rows of W into kClasses units each, with a lane
// per row of W and unit.
PIPPIN_VEC void deal_units(F (&x)[4]) {
  if constexpr (kClasses > 1) {
    const I lane = lane_numbers(), four = shift_right<2>(lane);
    const I index = set_i(kClasses) * (lane - shift_left<2>(four)) + four;
#pragma GCC unroll 4
    for (int c = 0; c < 4; ++c) x[c] = pick(x[c], index);
  }
  transpose_fours(x);
}

struct Yes {
  static constexpr bool value = true;
};
struct No {
  static constexpr bool value = false;
};

// The unit of work: kClasses units of 32 columns of four rows of W, or twice as many of 16.
template <typename Codes, bool kBlocks, int64_t kUnit>
struct Chunk {
  static constexpr int64_t kColumns = 2 * kByteLanes;
  static constexpr int kSets = 2 / Codes::kParts;
  static constexpr int kSums = 32 / kUnit;
  // Sets whose products are in the same lanes, as with kBehind.
  static constexpr bool kSameLanes = kSets == 2 && (!kBlocks || kByteLanes == 16) && kUnit == 32;
  static constexpr bool kEvenOdd = Codes::kParts == 2 && kUnit == 16;  // the layout of the sums

  B weights[4][kSets][Codes::kPlanes][Codes::kParts];

  // Rearranges the numbers of its units, or the sums of products, so that a register has a unit of
  // each class.
  template <typename Number>
  static PIPPIN_VEC void in_classes(Number (&x)[kSums]) {
    if constexpr (kEvenOdd) {
      const Number first = x[0], second = x[1];
      split_fours(first, second, x[0], x[1]);
    }
  }

  // Adds the products of kCount sets from `first` on.
  template <int kCount>
  PIPPIN_VEC I multiply_sets(int first, const int8_t* values) const {
    I products[4];
#pragma GCC unroll 4
    for (int c = 0; c < 4; ++c) products[c] = set_i(0);
#pragma GCC unroll 2
    for (int plane = 0; plane < Codes::kPlanes; ++plane) {
      if (plane == 1) {
#pragma GCC unroll 4
        for (int c = 0; c < 4; ++c) products[c] = shift_left<8>(products[c]);
      }
#pragma GCC unroll 2
      for (int s = first; s < first + kCount; ++s) {
#pragma GCC unroll 2
        for (int part = 0; part < Codes::kParts; ++part) {
          const B x = load_bytes(values + s * kByteLanes + part * 64);
#pragma GCC unroll 4
          for (int c = 0; c < 4; ++c) {
            products[c] = dot4(products[c], wide(weights[c][s][plane][part]), x);
          }
        }
      }
    }
    return add_fours(products[0], products[1], products[2], products[3]);
  }

  PIPPIN_VEC void multiply(const int8_t* values, const int32_t* starts, I (&sums)[kSums]) const {
    I start[kSums];
#pragma GCC unroll 2
    for (int e = 0; e < kSums; ++e) start[e] = load_i(starts + e * kLanes);
    in_classes(start);
    if constexpr (Codes::kNibbles) {
      NibbleSum products[4];
      const B even = load_bytes(values), odd = load_bytes(values + 64);
#pragma GCC unroll 4
      for (int c = 0; c < 4; ++c) {
        products[c].start(set_i(0), weights[c][0][0][0], even);
        products[c].add(weights[c][0][0][1], odd);
      }
      if constexpr (kEvenOdd) {
        F fours[4];
#pragma GCC unroll 4
        for (int c = 0; c < 4; ++c) fours[c] = floats(products[c].total());
        transpose_fours(fours);
        sums[0] = bits(fours[0]) + bits(fours[1]);
        sums[1] = bits(fours[2]) + bits(fours[3]);
      } else {
        sums[0] = add_fours(products);
      }
    } else {
      if constexpr (kSameLanes) {
        sums[0] = multiply_sets<kSets>(0, values);
      } else if constexpr (kSets == 2 && kSums == 1) {
        sums[0] = join_fours(multiply_sets<1>(0, values), multiply_sets<1>(1, values));
      } else {
#pragma GCC unroll 2
        for (int e = 0; e < kSums; ++e) sums[e] = multiply_sets<1>(e, values);
      }
      if constexpr (Codes::kPlanes == 2) {
#pragma GCC unroll 2
        for (int e = 0; e < kSums; ++e) start[e] = shift_left<8>(start[e]);
      }
    }
#pragma GCC unroll 2
    for (int e = 0; e < kSums; ++e) sums[e] = sums[e] + start[e];
  }
};

// The scales of four rows of W for four chunks. If whole chunks share blocks: of kLanes blocks,
// with the four rows of a block before those of the next.
template <typename Chunk>
struct StepScales {
  F scale[4][Chunk::kSums];

  // The scales of a shared block, repeated for each class.
  PIPPIN_VEC F of_block(int64_t block) const {
    return repeat_four(reinterpret_cast<const float*>(scale) + 4 * block);
  }

  PIPPIN_VEC void load(const Blocks& blocks, const int64_t* base, int64_t unit, bool inside) {
    F of_w[Chunk::kSums][4];
#pragma GCC unroll 2
    for (int part = 0; part < Chunk::kSums; ++part) {
      const int64_t first = unit + part * kLanes;
      if (inside && blocks.plain) {
#pragma GCC unroll 4
        for (int c = 0; c < 4; ++c) of_w[part][c] = blocks.get_plain(base[c] + first);
      } else {
        const BlockSpan span(blocks, first);
#pragma GCC unroll 4
        for (int c = 0; c < 4; ++c) of_w[part][c] = span.scales(base[c]);
      }
    }
#pragma GCC unroll 2
    for (int part = 0; part < Chunk::kSums; ++part) deal_units(of_w[part]);
#pragma GCC unroll 4
    for (int at = 0; at < 4; ++at) {
#pragma GCC unroll 2
      for (int e = 0; e < Chunk::kSums; ++e) {
        const int number = at * Chunk::kSums + e;
        scale[at][e] = of_w[number / 4][number % 4];
      }
      Chunk::in_classes(scale[at]);
    }
  }
};

// Sums four rows of W over their lanes and kClasses classes.
PIPPIN_VEC F4 sum_of_classes(F total) {
  float lanes[kLanes];
  store(lanes, total);
  F4 classes[kClasses];
#pragma GCC unroll 4
  for (int i = 0; i < kClasses; ++i) classes[i] = load4(lanes + 4 * i);
  return add_classes(classes);
}

template <bool kBlocks, int kMost, int kFours>
PIPPIN_VEC void finish_few(const QuantizedDotArgs& a, int64_t rows,
                           const int64_t (&column)[4 * kFours], const F (&total)[kFours][kMost]) {
  const bool offsets = a.w->offset_type != OffsetType::None;
  for (int f = 0; f < kFours; ++f) {
    float sums[kMost][4];
    for (int64_t r = 0; r < rows; ++r) store4(sums[r], sum_of_classes(total[f][r]));
    for (int c = 0; c < 4; ++c) {
      const int64_t n = column[4 * f + c];
      const float* bias = a.bias != nullptr ? a.bias + n : nullptr;
      float scale = 1, offset = 0;
      if constexpr (!kBlocks) {
        scale = row_scale(*a.w, n);
        offset = offsets ? row_offset(*a.w, n) : 0;
      }
      for (int64_t r = 0; r < rows; ++r) {
        float& y = a.y[r * a.y_stride + n];
        if constexpr (kBlocks) {
          y = bias != nullptr ? sums[r][c] + *bias : sums[r][c];
        } else {
          y = finish_row(sums[r][c], offsets ? &offset : nullptr, a.x->totals[r], scale, bias);
        }
      }
    }
  }
}

// All rows of x, up to kMost, times kFours times four rows of W. Sums of one row stay in registers.
// kShared: the units of a chunk share one block, and kLanes blocks are read at once.
template <typename Codes, bool kBlocks, int64_t kUnit, bool kShared, int kMost, int kFours>
PIPPIN_VEC void multiply_few(const QuantizedDotArgs& a, const int64_t (&column)[4 * kFours]) {
  using Chunk = kernels::Chunk<Codes, kBlocks, kUnit>;
  constexpr int kColumns = 4 * kFours, kSums = Chunk::kSums;
  constexpr int64_t kSetBytes = kByteLanes * Codes::kParts * Codes::kBits / 8;
  const QuantizedMatrix& w = *a.w;
  const QuantizedRows& x = *a.x;
  const int64_t row_numbers = x.padded / kUnit * 4, row_bytes = x.k * Codes::kBits / 8;
  const Blocks blocks(w, kShared ? w.block_columns : kUnit);
  const int64_t rows = kMost == 1 ? 1 : x.m;
  Codes codes[kColumns];
  const uint8_t* p[kColumns];
  int64_t base[kColumns];
  F total[kFours][kMost];
#pragma GCC unroll 8
  for (int c = 0; c < kColumns; ++c) {
    codes[c].start(w, column[c]);
    p[c] = w.codes + column[c] * row_bytes;
    base[c] = first_block(w, column[c]);
  }
#pragma GCC unroll 2
  for (int f = 0; f < kFours; ++f) {
    for (int64_t r = 0; r < rows; ++r) total[f][r] = set(0);
  }
  StepScales<Chunk> scales[kFours];
  // For shared blocks: the number read, the index of the chunk's block among the last kLanes, and
  // the number of its columns already processed.
  int64_t read = 0, block = 0, column_in_block = 0;
  // Steps of four chunks, so that each chunk's offset from the step's beginning is a constant.
  constexpr int64_t kStepColumns = 4 * Chunk::kColumns;
  constexpr int64_t kChunkBytes = Chunk::kColumns * Codes::kBits / 8;
  constexpr int64_t kChunkNumbers = Chunk::kColumns / kUnit * 4;
  const int8_t* const values = x.values;
  const int32_t* const starts = x.starts;
  const float* const x_scales = x.scales;
  const auto chunk = [&](int64_t step, int64_t at, auto whole) __attribute__((always_inline)) {
    const int64_t byte = step * (4 * kChunkBytes) + at * kChunkBytes;
    const int64_t place = step * kStepColumns + value_place<Codes::kParts>(at * Chunk::kColumns);
    const int64_t number = step * (4 * kChunkNumbers) + at * kChunkNumbers;
#pragma GCC unroll 2
    for (int f = 0; f < kFours; ++f) {
      Chunk now;
#pragma GCC unroll 4
      for (int c = 0; c < 4; ++c) {
#pragma GCC unroll 2
        for (int s = 0; s < Chunk::kSets; ++s) {
          const uint8_t* from = p[4 * f + c] + byte + s * kSetBytes;
          if constexpr (whole.value) {
            // One prefetch per line of 64 bytes.
            if (kChunkBytes > 32 || at % 2 == 0) __builtin_prefetch(from + kAheadBytes);
            codes[4 * f + c].load(from, kSetBytes, now.weights[c][s]);
          } else {
            load_set(codes[4 * f + c], from, row_bytes - byte - s * kSetBytes, now.weights[c][s]);
          }
        }
      }
      for (int64_t r = 0; r < rows; ++r) {
        const int64_t first = r * row_numbers + number;
        I sums[kSums];
        now.multiply(values + r * x.padded + place, starts + first, sums);
        F of_x[kSums];
#pragma GCC unroll 2
        for (int e = 0; e < kSums; ++e) of_x[e] = load(x_scales + first + e * kLanes);
        Chunk::in_classes(of_x);
#pragma GCC unroll 2
        for (int e = 0; e < kSums; ++e) {
          const StepScales<Chunk>& of_w = scales[f];
          const F scale = !kBlocks  ? of_x[e]
                          : kShared ? of_w.of_block(block) * of_x[e]
                                    : of_w.scale[at][e] * of_x[e];
          total[f][r] = fma(to_float(sums[e]), scale, total[f][r]);
        }
      }
    }
  };
  const auto load_scales = [&](int64_t step, bool inside) __attribute__((always_inline)) {
    if constexpr (kBlocks) {
      int64_t first = step * (kStepColumns / kUnit);
      if constexpr (kShared) {
        if (block > 0 || column_in_block > 0) return;
        first = read;
        read += kLanes;
        inside = read <= w.blocks_per_row;
      }
#pragma GCC unroll 2
      for (int f = 0; f < kFours; ++f) scales[f].load(blocks, base + 4 * f, first, inside);
    }
  };
  const auto end_chunk = [&]() __attribute__((always_inline)) {
    if constexpr (kShared) {
      column_in_block += Chunk::kColumns;
      if (column_in_block < w.block_columns) return;
      column_in_block = 0;
      block = block + 1 < kLanes ? block + 1 : 0;
    }
  };
  const int64_t steps = (row_bytes - kSlack<Codes>) / (4 * kChunkBytes);
  int64_t step = 0;
  for (; step < steps; ++step) {
    load_scales(step, true);
    if constexpr (kMost == 1 && kLanes == 8) {
#pragma GCC unroll 4
      for (int64_t at = 0; at < 4; ++at) {
        chunk(step, at, Yes{});
        end_chunk();
      }
    } else {
      for (int64_t at = 0; at < 4; ++at) {
        chunk(step, at, Yes{});
        end_chunk();
      }
    }
  }
  for (; step * kStepColumns < x.k; ++step) {
    load_scales(step, false);
    for (int64_t at = 0; at < 4 && step * kStepColumns + at * Chunk::kColumns < x.k; ++at) {
      chunk(step, at, No{});
      end_chunk();
    }
  }
  finish_few<kBlocks>(a, rows, column, total);
}

template <typename Codes, bool kBlocks, int64_t kUnit, bool kShared, int kMost, int kFours>
void few_rows(const QuantizedDotArgs& a) {
  constexpr int kColumns = 4 * kFours;
  const RowStreams<kColumns> streams(a.n_begin, a.n_end, a.x->k * Codes::kBits / 8);
  for (int64_t j = 0; j < streams.length; ++j) {
    int64_t column[kColumns];
#pragma GCC unroll 8
    for (int c = 0; c < kColumns; ++c) column[c] = streams.row(c, j);
    multiply_few<Codes, kBlocks, kUnit, kShared, kMost, kFours>(a, column);
  }
}

template <typename Codes, bool kBlocks, int64_t kUnit, bool kShared>
void few_rows(const QuantizedDotArgs& a) {
  constexpr int kFew = kTurns<Codes, kUnit> ? kLeastTurned - 1 : kFewRowsOf<Codes>;
  if (a.x->m > 1) return few_rows<Codes, kBlocks, kUnit, kShared, kFew, 1>(a);
  constexpr int64_t kLongRow = 5 * 1024;  // columns
  // With so many activations, a pass over W no longer fits the first-level cache: fewer passes.
  if constexpr (kLanes == 16 && Codes::kPlanes == 1) {
    if (a.x->padded > kLongRow) return few_rows<Codes, kBlocks, kUnit, kShared, 1, 2>(a);
  }
  return few_rows<Codes, kBlocks, kUnit, kShared, 1, 1>(a);
}

template <typename Codes, bool kBlocks, int64_t kUnit>
void few_rows(const QuantizedDotArgs& a) {
  if constexpr (kBlocks && kUnit == 32) {
    constexpr int64_t kColumns = Chunk<Codes, kBlocks, kUnit>::kColumns;
    const bool shared = a.w->block_columns > kUnit && a.w->block_columns % kColumns == 0;
    if (shared) return few_rows<Codes, kBlocks, kUnit, true>(a);
  }
  return few_rows<Codes, kBlocks, kUnit, false>(a);
}

}  // namespace
}  // namespace pippin::kernels
