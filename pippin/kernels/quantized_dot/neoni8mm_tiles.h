// The tiles of many rows for smmla (FEAT_I8MM), which multiplies two rows of x by two rows of W,
// eight columns each, into four sums: twice as much as sdot. Over the bytes of NEON.
//
//   piece a register has eight columns of two rows of W (vector_slots.h), a slot eight of them
//   x     the same of two rows of x, as QuantizedRows::row_pairs has them
//   sum   of rows i, i + 1 and columns n, n + 1:  y[i, n], y[i, n + 1], y[i + 1, n], y[i + 1, n + 1]
//
// The registers hold three pairs of rows by four pairs of columns, half a tile, in int32 and fp32.
// Each lane adds in the same order as vector_tiles.h: results have the same bits.
#pragma once

#include "pippin/kernels/quantized_dot/neondot_products.h"
// Must come first: few rows are multiplied by sdot.
#include "pippin/kernels/quantized_dot/vector_slots.h"

namespace pippin::kernels {
namespace {

constexpr int64_t kSlotColumns = 8;
constexpr bool kRowPairs = true;
constexpr int kColumnPairs = 4;
constexpr int64_t kHalfTile = 2 * kColumnPairs;
constexpr int64_t kPairTotals = 2 * kTileColumns;  // for two rows of x

// The transposition that fill_bytes() uses for slots: two registers of two 64-bit lanes.
PIPPIN_VEC void transpose(I (&r)[2]) {
  const int64x2_t a = vreinterpretq_s64_s32(r[0].v), b = vreinterpretq_s64_s32(r[1].v);
  r[0].v = vreinterpretq_s32_s64(vzip1q_s64(a, b));
  r[1].v = vreinterpretq_s32_s64(vzip2q_s64(a, b));
}

// Numbers of two rows of x, each in two lanes.
PIPPIN_VEC F of_rows(const float* first, const float* second) {
  return {vcombine_f32(vld1_dup_f32(first), vld1_dup_f32(second))};
}
PIPPIN_VEC I of_rows(const int32_t* first, const int32_t* second) {
  return {vcombine_s32(vld1_dup_s32(first), vld1_dup_s32(second))};
}
// Numbers of two rows of W, for each row of x.
PIPPIN_VEC F of_columns(const float* p) {
  int64_t two;
  __builtin_memcpy(&two, p, sizeof(two));
  return {vreinterpretq_f32_s64(vdupq_n_s64(two))};
}
// The first or the second row of four columns.
PIPPIN_VEC F row_of(F left, F right, bool second) {
  const float64x2_t a = vreinterpretq_f64_f32(left.v), b = vreinterpretq_f64_f32(right.v);
  return {vreinterpretq_f32_f64(second ? vzip2q_f64(a, b) : vzip1q_f64(a, b))};
}

PIPPIN_VEC I multiply_pairs(I sum, B x, B w) {
  return {vmmlaq_s32(sum.v, signed_bytes(x), signed_bytes(w))};
}

// The integer products of one unit. Rows of x are `padded` values apart, planes of W
// plane_bytes.
template <typename Form, int64_t kUnit, int kPairs>
PIPPIN_VEC void multiply_unit(const int8_t* values, int64_t padded, const uint8_t* bytes,
                              int64_t plane_bytes, I (&sum)[kPairs][kColumnPairs]) {
#pragma GCC unroll 2
  for (int plane = 0; plane < Form::kPlanes; ++plane) {
    if (plane == 1) {
#pragma GCC unroll 3
      for (int p = 0; p < kPairs; ++p) {
#pragma GCC unroll 4
        for (int t = 0; t < kColumnPairs; ++t) sum[p][t] = shift_left<8>(sum[p][t]);
      }
    }
#pragma GCC unroll 4
    for (int slot = 0; slot < kUnit / kSlotColumns; ++slot) {
      const int64_t place = Form::kParts == 2 ? slot / 2 * 8 + slot % 2 * 64 : slot * 8;
      const uint8_t* from = bytes + plane * plane_bytes + slot * kSlotColumns * kTileColumns;
      // Keeps loads in their slot: moved earlier, they would need the registers of sums.
      __asm__ volatile("" ::: "memory");
      B rows[kPairs];
#pragma GCC unroll 3
      for (int p = 0; p < kPairs; ++p) rows[p] = load_bytes(values + 2 * (p * padded + place));
#pragma GCC unroll 4
      for (int t = 0; t < kColumnPairs; ++t) {
        const B weights = load_bytes(from + t * kByteLanes);
#pragma GCC unroll 3
        for (int p = 0; p < kPairs; ++p) sum[p][t] = multiply_pairs(sum[p][t], rows[p], weights);
      }
    }
  }
}

// The rows of x from i on (i is even) times half of a piece, from its column `half` on.
template <typename Form, int64_t kUnit, int kPairs>
void multiply_half(const QuantizedDotArgs& a, int64_t i, float* totals, const Tile& tile,
                   int64_t half, NextPiece& next) {
  const QuantizedRows& x = *a.x;
  const int64_t row_units = x.padded / kUnit, units = tile.count / kUnit, padded = x.padded;
  const int64_t from = tile.begin / kUnit;
  const int8_t* values = x.values + i * padded + 2 * value_place<Form::kParts>(tile.begin);
  const uint8_t* bytes = tile.bytes + half * kSlotColumns;
  // If the second row of a pair does not exist, the last row replaces it.
  const float* scales[2 * kPairs];
  const int32_t* starts[2 * kPairs];
#pragma GCC unroll 6
  for (int r = 0; r < 2 * kPairs; ++r) {
    const int64_t first = smaller_of(i + r, x.m - 1) * row_units + from;
    scales[r] = x.scales + first;
    starts[r] = x.starts + first;
  }
  totals += 2 * half;
  F total[kPairs][kColumnPairs];
#pragma GCC unroll 3
  for (int p = 0; p < kPairs; ++p) {
#pragma GCC unroll 4
    for (int t = 0; t < kColumnPairs; ++t) total[p][t] = load(totals + p * kPairTotals + 4 * t);
  }
  for (int64_t u = 0; u < units; ++u) {
    next.fetch();
    I sum[kPairs][kColumnPairs];
#pragma GCC unroll 3
    for (int p = 0; p < kPairs; ++p) {
      const I start = of_rows(starts[2 * p] + u, starts[2 * p + 1] + u);
#pragma GCC unroll 4
      for (int t = 0; t < kColumnPairs; ++t) sum[p][t] = start;
    }
    multiply_unit<Form, kUnit>(values + 2 * value_place<Form::kParts>(u * kUnit), padded,
                               bytes + u * kUnit * kTileColumns, tile.plane_bytes, sum);
    F of_x[kPairs];
#pragma GCC unroll 3
    for (int p = 0; p < kPairs; ++p) {
      of_x[p] = of_rows(scales[2 * p] + u, scales[2 * p + 1] + u);
    }
#pragma GCC unroll 4
    for (int t = 0; t < kColumnPairs; ++t) {
      F of_w = set(1);
      if constexpr (Form::kBlocks) of_w = of_columns(tile.scales + u * kTileColumns + half + 2 * t);
#pragma GCC unroll 3
      for (int p = 0; p < kPairs; ++p) {
        const F scale = Form::kBlocks ? of_w * of_x[p] : of_x[p];
        total[p][t] = fma(to_float(sum[p][t]), scale, total[p][t]);
      }
    }
  }
#pragma GCC unroll 3
  for (int p = 0; p < kPairs; ++p) {
#pragma GCC unroll 4
    for (int t = 0; t < kColumnPairs; ++t) store(totals + p * kPairTotals + 4 * t, total[p][t]);
  }
}

template <typename Form, int64_t kUnit, int kPairs>
PIPPIN_VEC void multiply_tile(const QuantizedDotArgs& a, int64_t i, float* totals, const Tile& tile,
                              NextPiece& next) {
  for (int64_t half = 0; half < kTileColumns && tile.n + half < a.n_end; half += kHalfTile) {
    multiply_half<Form, kUnit, kPairs>(a, i, totals, tile, half, next);
  }
}

PIPPIN_VEC int64_t tile_steps(int64_t rows, int64_t units) {
  return (rows + 5) / 6 * units;
}

// Up to three pairs at a time, in groups of nearly equal size.
template <typename Form, int64_t kUnit>
void multiply_rows(const QuantizedDotArgs& a, int64_t first, int64_t rows, const Tile& tile,
                   NextPiece& next) {
  const int64_t pairs = (rows + 1) / 2;
  if (tile.begin == 0) {
    for (int64_t at = 0; at < pairs * kPairTotals; at += kLanes) store(tile.totals + at, set(0));
  }
  for (int64_t p = 0; p < pairs;) {
    float* totals = tile.totals + p * kPairTotals;
    const int64_t left = pairs - p, here = (left + (left + 2) / 3 - 1) / ((left + 2) / 3);
    switch (here) {
      case 1:
        multiply_tile<Form, kUnit, 1>(a, first + 2 * p, totals, tile, next);
        break;
      case 2:
        multiply_tile<Form, kUnit, 2>(a, first + 2 * p, totals, tile, next);
        break;
      default:
        multiply_tile<Form, kUnit, 3>(a, first + 2 * p, totals, tile, next);
    }
    p += here;
  }
}

template <bool kBlocks>
void finish_rows(const QuantizedDotArgs& a, int64_t first, int64_t rows, const Tile& tile) {
  const bool has_offsets = a.w->offset_type != OffsetType::None;
  for (int64_t t = 0; t < kTileColumns; t += kLanes) {
    const int64_t column = tile.n + t, left = a.n_end - column;
    if (left <= 0) break;
    F bias = set(0), scale = set(1), offset = set(0);
    if (a.bias != nullptr) {
      bias = left >= kLanes ? load(a.bias + column) : load_part(a.bias + column, left);
    }
    if constexpr (!kBlocks) load_rows(a, column, scale, offset);
    for (int64_t r = 0; r < rows; ++r) {
      const float* totals = tile.totals + r / 2 * kPairTotals + 2 * t;
      F value = row_of(load(totals), load(totals + 4), r % 2 != 0);
      if constexpr (kBlocks) {
        if (a.bias != nullptr) value = value + bias;
      } else {
        value = finish_row(value, has_offsets ? &offset : nullptr, set(a.x->totals[first + r]),
                           scale, a.bias != nullptr ? &bias : nullptr);
      }
      float* y = a.y + (first + r) * a.y_stride + column;
      left >= kLanes ? store(y, value) : store_part(y, value, left);
    }
  }
}

}  // namespace
}  // namespace pippin::kernels
