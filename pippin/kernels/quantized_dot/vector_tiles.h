// Many rows of activations: multiplies the bytes of a piece (vector_slots.h), in slots of four
// columns, with every row of x. Over the vectors and products of the includer.
//
//   piece kTileRegisters of kLanes rows of W for each slot
//   x     four columns of one row, repeated in every lane
//   sums  kTileRows rows x kTileColumns columns in registers of int32, scaled and added to fp32 every
//         unit, class after class
#pragma once

#include "pippin/kernels/quantized_dot/vector_slots.h"

namespace pippin::kernels {
namespace {

constexpr int64_t kSlotColumns = 4;
constexpr bool kRowPairs = false;
constexpr int kTileRegisters = kTileColumns / kLanes;

// The integer products of one unit, whose values start `first` after the rows' beginning. Addresses
// are computed such that the compiler sees no common sums to keep from unit to unit: they would
// occupy all registers.
template <typename Form, int64_t kUnit, int kRows>
PIPPIN_VEC void multiply_unit(const int8_t* values, int64_t padded, int64_t last_row, int64_t first,
                              const uint8_t* bytes, int64_t plane_bytes,
                              I (&sum)[kRows][kTileRegisters]) {
  constexpr int64_t kSlot = kTileColumns * 4;
  if constexpr (Form::kNibbles) {
    NibbleSum nibbles[kRows][kTileRegisters];
#pragma GCC unroll 8
    for (int slot = 0; slot < kUnit / 4; ++slot) {
      B weights[kTileRegisters];
#pragma GCC unroll 4
      for (int t = 0; t < kTileRegisters; ++t) {
        weights[t] = load_bytes(bytes + slot * kSlot + t * kByteLanes);
      }
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        const int64_t place = first + slot / 2 * 4 + slot % 2 * 64;
        const B four = repeat4(values + (r < kRows - 1 ? r : last_row) * padded + place);
#pragma GCC unroll 4
        for (int t = 0; t < kTileRegisters; ++t) {
          slot == 0 ? nibbles[r][t].start(sum[r][t], weights[t], four)
                    : nibbles[r][t].add(weights[t], four);
        }
      }
    }
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
      for (int t = 0; t < kTileRegisters; ++t) sum[r][t] = nibbles[r][t].total();
    }
  } else {
#pragma GCC unroll 2
    for (int plane = 0; plane < Form::kPlanes; ++plane) {
      if (plane == 1) {
#pragma GCC unroll 8
        for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
          for (int t = 0; t < kTileRegisters; ++t) sum[r][t] = shift_left<8>(sum[r][t]);
        }
      }
#pragma GCC unroll 8
      for (int slot = 0; slot < kUnit / 4; ++slot) {
        Wide weights[kTileRegisters];
#pragma GCC unroll 4
        for (int t = 0; t < kTileRegisters; ++t) {
          weights[t] = wide(load_bytes(bytes + plane * plane_bytes +
                                       Form::column_in(slot * 4) * kTileColumns + t * kByteLanes));
        }
#pragma GCC unroll 8
        for (int r = 0; r < kRows; ++r) {
          const int64_t place = first + (Form::kParts == 2 ? slot / 2 * 4 + slot % 2 * 64
                                                           : Form::column_in(slot * 4));
          const B four = repeat4(values + (r < kRows - 1 ? r : last_row) * padded + place);
#pragma GCC unroll 4
          for (int t = 0; t < kTileRegisters; ++t) sum[r][t] = dot4(sum[r][t], weights[t], four);
        }
      }
    }
  }
}

// kRows rows of x from row i on; if the last of two does not exist, the one before is repeated.
template <typename Form, int64_t kUnit, int kRows>
void multiply_tile(const QuantizedDotArgs& a, int64_t i, float* totals, const Tile& tile,
                   NextPiece& next) {
  constexpr int64_t kTotals = kClasses * kTileColumns;  // per row
  const QuantizedRows& x = *a.x;
  const int64_t row_units = x.padded / kUnit, units = tile.count / kUnit;
  const int64_t begin = value_place<Form::kParts>(tile.begin), from = tile.begin / kUnit;
  int64_t row[kRows];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) row[r] = r;
  row[kRows - 1] = smaller_of(kRows - 1, x.m - 1 - i);
  const int8_t* values = x.values + i * x.padded + begin;
  const float* scales = x.scales + i * row_units + from;
  const int32_t* starts = x.starts + i * row_units + from;
  for (int c = 0; c < kClasses; ++c) {
    float* of_class = totals + c * kTileColumns;
    F total[kRows][kTileRegisters];
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
      for (int t = 0; t < kTileRegisters; ++t) {
        total[r][t] = load(of_class + r * kTotals + t * kLanes);
      }
    }
    for (int64_t u = first_of_class<Form::kParts, kUnit>(c); u < units;
         u = next_of_class<Form::kParts, kUnit>(u)) {
      next.fetch();
      const int64_t column = kUnit == 32 ? Form::column_of(u) : u * kUnit;
      I sum[kRows][kTileRegisters];
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
        for (int t = 0; t < kTileRegisters; ++t) sum[r][t] = set_i(starts[row[r] * row_units + u]);
      }
      multiply_unit<Form, kUnit>(values, x.padded, row[kRows - 1],
                                 value_place<Form::kParts>(column),
                                 tile.bytes + column * kTileColumns, tile.plane_bytes, sum);
      F of_w[kTileRegisters];
      if constexpr (Form::kBlocks) {
#pragma GCC unroll 4
        for (int t = 0; t < kTileRegisters; ++t) {
          of_w[t] = load(tile.scales + u * kTileColumns + t * kLanes);
        }
      }
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        const F of_x = set(scales[row[r] * row_units + u]);
#pragma GCC unroll 4
        for (int t = 0; t < kTileRegisters; ++t) {
          const F scale = Form::kBlocks ? of_w[t] * of_x : of_x;
          total[r][t] = fma(to_float(sum[r][t]), scale, total[r][t]);
        }
      }
    }
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
      for (int t = 0; t < kTileRegisters; ++t) {
        store(of_class + r * kTotals + t * kLanes, total[r][t]);
      }
    }
  }
}

// The height of a tile: as many tiles as kTileRows rows would make, of nearly equal, even heights.
PIPPIN_VEC int64_t rows_of_tile(int64_t left) {
  const int64_t tiles = (left + kTileRows - 1) / kTileRows;
  return ((left + tiles - 1) / tiles + 1) / 2 * 2;
}

PIPPIN_VEC int64_t tile_steps(int64_t rows, int64_t units) {
  return (rows + kTileRows - 1) / kTileRows * units;
}

// Adds the products of rows [first, first + rows) of x with a piece to the tile's totals.
template <typename Form, int64_t kUnit>
void multiply_rows(const QuantizedDotArgs& a, int64_t first, int64_t rows, const Tile& tile,
                   NextPiece& next) {
  constexpr int64_t kTotals = kClasses * kTileColumns;
  if (tile.begin == 0) {
    for (int64_t at = 0; at < (rows + 1) * kTotals; at += kLanes) store(tile.totals + at, set(0));
  }
  for (int64_t i = 0; i < rows;) {
    float* totals = tile.totals + i * kTotals;
    const int64_t here = rows_of_tile(rows - i);
    switch (here) {
      case 2:
        multiply_tile<Form, kUnit, 2>(a, first + i, totals, tile, next);
        break;
      case 4:
        multiply_tile<Form, kUnit, 4>(a, first + i, totals, tile, next);
        break;
      default:
        if constexpr (kTileRows == 6) {
          multiply_tile<Form, kUnit, 6>(a, first + i, totals, tile, next);
        }
    }
    i += here;
  }
}

template <bool kBlocks>
void finish_rows(const QuantizedDotArgs& a, int64_t first, int64_t rows, const Tile& tile) {
  const bool has_offsets = a.w->offset_type != OffsetType::None;
#pragma GCC unroll 4
  for (int t = 0; t < kTileRegisters; ++t) {
    const int64_t column = tile.n + t * kLanes, left = a.n_end - column;
    if (left <= 0) break;
    F bias = set(0), scale = set(1), offset = set(0);
    if (a.bias != nullptr) {
      bias = left >= kLanes ? load(a.bias + column) : load_part(a.bias + column, left);
    }
    if constexpr (!kBlocks) load_rows(a, column, scale, offset);
    for (int64_t r = 0; r < rows; ++r) {
      F sums[kClasses];
      const float* totals = tile.totals + r * kClasses * kTileColumns + t * kLanes;
      for (int c = 0; c < kClasses; ++c) sums[c] = load(totals + c * kTileColumns);
      F value = add_classes(sums);
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
