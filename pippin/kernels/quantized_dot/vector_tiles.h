// Many rows of activations: the bytes of a tile (vector_slots.h) in slots of four columns meet
// every row of x. Over the vectors and products of the includer.
//
//   tile kTileRegisters of kLanes rows of W for each slot
//   x    four columns of one row, repeated in every lane
//   y    kTileRows rows x kTileColumns columns in registers of int32, scaled and added to fp32 every unit
#pragma once

#include "pippin/kernels/quantized_dot/vector_slots.h"

namespace pippin::kernels {
namespace {

constexpr int64_t kSlotColumns = 4;
constexpr bool kRowPairs = false;
constexpr int kTileRegisters = kTileColumns / kLanes;

// The integer products of one unit, whose values are `first` behind the rows' beginning. Addresses
// are added up such that the compiler sees no sums to keep from unit to unit: they would fill all
// registers.
template <typename Form, int64_t kUnit, int kRows>
PIPPIN_VEC void multiply_unit(const QuantizedRows& x, const int8_t* values, int64_t first,
                              const uint8_t* bytes, I (&sum)[kRows][kTileRegisters]) {
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
        const B four = repeat4(values + r * x.padded + place);
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
          weights[t] =
              wide(load_bytes(bytes + plane * x.k * kTileColumns + slot * kSlot + t * kByteLanes));
        }
#pragma GCC unroll 8
        for (int r = 0; r < kRows; ++r) {
          const int64_t place =
              first + (Form::kParts == 2 ? slot / 2 * 4 + slot % 2 * 64 : slot * 4);
          const B four = repeat4(values + r * x.padded + place);
#pragma GCC unroll 4
          for (int t = 0; t < kTileRegisters; ++t) sum[r][t] = dot4(sum[r][t], weights[t], four);
        }
      }
    }
  }
}

template <typename Form, int64_t kUnit, int kRows>
void multiply_tile(const QuantizedDotArgs& a, int64_t i, int64_t n, const Tile& tile) {
  const QuantizedRows& x = *a.x;
  const int64_t stride = x.padded / kUnit, units = x.k / kUnit;
  const int8_t* values = x.values + i * x.padded;
  const float* scales = x.scales + i * stride;
  const float* sums = x.sums + i * stride;
  const int32_t* starts = x.starts + i * stride;
  const bool has_offsets = a.w->offset_type != OffsetType::None;
  F total[kRows][kTileRegisters];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int t = 0; t < kTileRegisters; ++t) total[r][t] = set(0);
  }
  for (int64_t u = 0; u < units; ++u) {
    I sum[kRows][kTileRegisters];
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
      for (int t = 0; t < kTileRegisters; ++t) sum[r][t] = set_i(starts[r * stride + u]);
    }
    multiply_unit<Form, kUnit>(x, values, value_place<Form::kParts>(u * kUnit),
                               tile.bytes + u * kUnit * kTileColumns, sum);
    F of_w[kTileRegisters];
#pragma GCC unroll 4
    for (int t = 0; t < kTileRegisters; ++t) {
      of_w[t] = load(tile.scales + u * kTileColumns + t * kLanes);
    }
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const F of_x = set(scales[r * stride + u]);
#pragma GCC unroll 4
      for (int t = 0; t < kTileRegisters; ++t) {
        total[r][t] = fma(to_float(sum[r][t]), of_w[t] * of_x, total[r][t]);
      }
    }
    if (!has_offsets) continue;
#pragma GCC unroll 4
    for (int t = 0; t < kTileRegisters; ++t) {
      of_w[t] = load(tile.offset_scales + u * kTileColumns + t * kLanes);
    }
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const F of_x = set(sums[r * stride + u]);
#pragma GCC unroll 4
      for (int t = 0; t < kTileRegisters; ++t) total[r][t] = fnma(of_w[t], of_x, total[r][t]);
    }
  }
#pragma GCC unroll 4
  for (int t = 0; t < kTileRegisters; ++t) {
    const int64_t column = n + t * kLanes, left = a.n_end - column;
    if (left <= 0) break;
    F bias = set(0);
    if (a.bias != nullptr) {
      bias = left >= kLanes ? load(a.bias + column) : load_part(a.bias + column, left);
    }
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      float* y = a.y + (i + r) * a.y_stride + column;
      const F value = total[r][t] + bias;
      left >= kLanes ? store(y, value) : store_part(y, value, left);
    }
  }
}

template <typename Form, int64_t kUnit>
void multiply_rows(const QuantizedDotArgs& a, int64_t n, const Tile& tile) {
  for_row_tiles<kTileRows>(
      a.x->m, [&](auto rows, int64_t i) __attribute__((always_inline)) {
        multiply_tile<Form, kUnit, rows.value>(a, i, n, tile);
      });
}

}  // namespace
}  // namespace pippin::kernels
