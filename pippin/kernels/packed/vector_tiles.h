// Many rows of activations: 16 rows of W at a time become bytes, laid out so that a register holds
// four columns of kLanes rows, and meet every row of x. Over the vectors and bytes of the includer.
//
//   tile [planes][k / 4][16 rows of W][4 columns]: kTileRegisters for each four columns (a slot);
//   of
//        nibbles the slots take turns: even columns of eight, odd columns of eight
//   x    four columns of one row, repeated in every lane
//   y    kTileRows rows x 16 columns in registers of int32, scaled and added to fp32 every unit
#pragma once

#include "pippin/kernels/packed/vector_codes.h"

namespace pippin::kernels {
namespace {

constexpr int64_t kTileColumns = 16;
constexpr int kTileRegisters = kTileColumns / kLanes;

struct Tile {
  uint8_t* bytes;
  float* scales;         // [units][16]
  float* offset_scales;  // [units][16]: offset * scale
};

template <typename Codes>
void fill_bytes(const PackedDotArgs& a, int64_t n, const Tile& tile) {
  constexpr int64_t kSet = kByteLanes * Codes::kParts, kBytes = kSet * Codes::kBits / 8;
  const int64_t k = a.w->k, row_bytes = k * Codes::kBits / 8;
  for (int64_t first = 0; first < kTileColumns; first += kLanes) {
    Codes codes[kLanes];
    const uint8_t* p[kLanes];
    for (int64_t r = 0; r < kLanes; ++r) {
      const int64_t column = smaller_of(n + first + r, a.n_end - 1);
      codes[r].start(*a.w, column);
      p[r] = a.w->codes + column * row_bytes;
    }
    for (int64_t j = 0; j < k; j += kSet) {
      I rows[Codes::kPlanes][Codes::kParts][kLanes];
      const int64_t at = j * Codes::kBits / 8;
#pragma GCC unroll 8
      for (int64_t r = 0; r < kLanes; ++r) {
        B bytes[Codes::kPlanes][Codes::kParts];
        // The next tile: rows that follow each other closely are no streams to the hardware.
        __builtin_prefetch(p[r] + kTileColumns * row_bytes + at, 0, 2);
        if (at + kBytes + kSlack<Codes> <= row_bytes) {
          codes[r].load(p[r] + at, bytes);
        } else {
          const LastCodes<kBytes + kSlack<Codes>> last(p[r] + at, row_bytes - at);
          codes[r].load(last.at, bytes);
        }
#pragma GCC unroll 2
        for (int plane = 0; plane < Codes::kPlanes; ++plane) {
#pragma GCC unroll 2
          for (int part = 0; part < Codes::kParts; ++part) {
            rows[plane][part][r] = words(bytes[plane][part]);
          }
        }
      }
      const int64_t count = smaller_of((k - j) / (4 * Codes::kParts), kLanes);
#pragma GCC unroll 2
      for (int plane = 0; plane < Codes::kPlanes; ++plane) {
#pragma GCC unroll 2
        for (int part = 0; part < Codes::kParts; ++part) {
          transpose(rows[plane][part]);
          uint8_t* to = tile.bytes + plane * k * kTileColumns + (j / 4 + part) * kTileColumns * 4;
#pragma GCC unroll 8
          for (int q = 0; q < kLanes; ++q) {
            if (q >= count) break;
            store_bytes(to + (q * Codes::kParts * kTileColumns + first) * 4,
                        bytes(rows[plane][part][q]));
          }
        }
      }
    }
  }
}

// One register of scales a unit at a time.
PIPPIN_VEC void store_units(float* to, int64_t count, F (&rows)[kLanes]) {
  I lanes[kLanes];
#pragma GCC unroll 8
  for (int r = 0; r < kLanes; ++r) lanes[r] = bits(rows[r]);
  transpose(lanes);
  for (int64_t u = 0; u < count; ++u) store(to + u * kTileColumns, floats(lanes[u]));
}

void fill_scales(const PackedDotArgs& a, int64_t n, const Tile& tile) {
  const PackedMatrix& w = *a.w;
  const int64_t unit = a.x->unit, units = w.k / unit;
  const bool has_offsets = w.offset_type != OffsetType::None;
  const Blocks blocks(w, unit);
  for (int64_t first = 0; first < kTileColumns; first += kLanes) {
    float row_scales[kLanes] = {}, row_offsets[kLanes] = {};
    int64_t base[kLanes];
    for (int64_t r = 0; r < kLanes; ++r) {
      const int64_t column = smaller_of(n + first + r, a.n_end - 1);
      base[r] = first_block(w, column);
      if (w.blocks_per_row > 1) continue;
      row_scales[r] = row_scale(w, column);
      row_offsets[r] = has_offsets ? row_offset(w, column) : 0;
    }
    for (int64_t u = 0; u < units; u += kLanes) {
      F scales[kLanes], offset_scales[kLanes];
      const BlockSpan span(blocks, u);
      for (int64_t r = 0; r < kLanes; ++r) {
        scales[r] = w.blocks_per_row > 1 ? span.scales(base[r]) : set(row_scales[r]);
        if (!has_offsets) continue;
        const F offset = w.blocks_per_row > 1 ? span.offsets(base[r]) : set(row_offsets[r]);
        offset_scales[r] = scales[r] * offset;
      }
      const int64_t count = smaller_of(units - u, kLanes);
      store_units(tile.scales + u * kTileColumns + first, count, scales);
      if (has_offsets) {
        store_units(tile.offset_scales + u * kTileColumns + first, count, offset_scales);
      }
    }
  }
}

// What the products take of a kind of codes, so that palettes of all bits share their code.
template <bool kIsNibbles, int kCodeParts, int kCodePlanes>
struct TileForm {
  static constexpr bool kNibbles = kIsNibbles;
  static constexpr int kParts = kCodeParts, kPlanes = kCodePlanes;
};

// The integer products of one unit.
template <typename Form, int64_t kUnit, int kRows>
PIPPIN_VEC void multiply_unit(const QuantizedRows& x, const int8_t* values, const uint8_t* bytes,
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
        const B four = repeat4(values + r * x.padded + slot / 2 * 4 + slot % 2 * 64);
#pragma GCC unroll 4
        for (int t = 0; t < kTileRegisters; ++t) {
          slot == 0 ? nibbles[r][t].start(weights[t], four) : nibbles[r][t].add(weights[t], four);
        }
      }
    }
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
      for (int t = 0; t < kTileRegisters; ++t) sum[r][t] = nibbles[r][t].total(sum[r][t]);
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
          const int64_t place = Form::kParts == 2 ? slot / 2 * 4 + slot % 2 * 64 : slot * 4;
          const B four = repeat4(values + r * x.padded + place);
#pragma GCC unroll 4
          for (int t = 0; t < kTileRegisters; ++t) sum[r][t] = dot4(sum[r][t], weights[t], four);
        }
      }
    }
  }
}

template <typename Form, int64_t kUnit, int kRows>
void multiply_tile(const PackedDotArgs& a, int64_t i, int64_t n, const Tile& tile) {
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
    multiply_unit<Form, kUnit>(x, values + value_place<Form::kParts>(u * kUnit),
                               tile.bytes + u * kUnit * kTileColumns, sum);
#pragma GCC unroll 4
    for (int t = 0; t < kTileRegisters; ++t) {
      const F of_w = load(tile.scales + u * kTileColumns + t * kLanes);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        total[r][t] = fma(to_float(sum[r][t]), of_w * set(scales[r * stride + u]), total[r][t]);
      }
      if (has_offsets) {
        const F offset = load(tile.offset_scales + u * kTileColumns + t * kLanes);
#pragma GCC unroll 8
        for (int r = 0; r < kRows; ++r) {
          total[r][t] = fnma(offset, set(sums[r * stride + u]), total[r][t]);
        }
      }
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
void multiply_rows(const PackedDotArgs& a, int64_t n, const Tile& tile) {
  for_row_tiles<kTileRows>(
      a.x->m, [&](auto rows, int64_t i) __attribute__((always_inline)) {
        multiply_tile<Form, kUnit, rows.value>(a, i, n, tile);
      });
}

template <typename Codes>
void many_rows(const PackedDotArgs& a) {
  const int64_t units = a.x->k / a.x->unit;
  char* scratch = static_cast<char*>(a.scratch);
  Tile tile{};
  tile.bytes = reinterpret_cast<uint8_t*>(scratch);
  tile.scales = reinterpret_cast<float*>(scratch + a.x->k * kTileColumns * Codes::kPlanes);
  tile.offset_scales = tile.scales + units * kTileColumns;
  using Form = TileForm<Codes::kNibbles, Codes::kParts, Codes::kPlanes>;
  for (int64_t n = a.n_begin; n < a.n_end; n += kTileColumns) {
    fill_bytes<Codes>(a, n, tile);
    fill_scales(a, n, tile);
    if constexpr (Codes::kPalette) {
      multiply_rows<Form, 32>(a, n, tile);
    } else if (a.x->unit == 16) {
      multiply_rows<Form, 16>(a, n, tile);
    } else {
      multiply_rows<Form, 32>(a, n, tile);
    }
  }
}

}  // namespace
}  // namespace pippin::kernels
