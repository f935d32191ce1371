// A tile of many rows: 16 rows of W as bytes, and their scales, one for each unit of columns, laid
// out for the products of the includer's tiles. Over the vectors and bytes of the includer.
//
//   tile [planes][slots][16 rows of W][kSlotColumns]: a slot has 4 columns, or 8; a register has
//        them of kByteLanes / kSlotColumns rows. Of nibbles the slots take turns: the even columns
//        of twice as many, the odd ones
//
// What turns rows into slots is transpose() of as many registers as a register has rows.
#pragma once

#include "pippin/kernels/quantized_dot/vector_codes.h"

namespace pippin::kernels {
namespace {

constexpr int64_t kTileColumns = 16;

struct Tile {
  uint8_t* bytes;
  float* scales;         // [units][16]
  float* offset_scales;  // [units][16]: offset * scale
};

template <typename Codes, int64_t kSlotColumns>
void fill_bytes(const QuantizedDotArgs& a, int64_t n, const Tile& tile) {
  constexpr int64_t kRows = kByteLanes / kSlotColumns;  // in a register
  constexpr int64_t kSlot = kTileColumns * kSlotColumns;
  constexpr int64_t kSet = kByteLanes * Codes::kParts, kBytes = kSet * Codes::kBits / 8;
  const int64_t k = a.w->k, row_bytes = k * Codes::kBits / 8;
  for (int64_t first = 0; first < kTileColumns; first += kRows) {
    Codes codes[kRows];
    const uint8_t* p[kRows];
    for (int64_t r = 0; r < kRows; ++r) {
      const int64_t column = smaller_of(n + first + r, a.n_end - 1);
      codes[r].start(*a.w, column);
      p[r] = a.w->codes + column * row_bytes;
    }
    for (int64_t j = 0; j < k; j += kSet) {
      I rows[Codes::kPlanes][Codes::kParts][kRows];
      const int64_t at = j * Codes::kBits / 8;
#pragma GCC unroll 8
      for (int64_t r = 0; r < kRows; ++r) {
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
      const int64_t count = smaller_of((k - j) / (kSlotColumns * Codes::kParts), kRows);
#pragma GCC unroll 2
      for (int plane = 0; plane < Codes::kPlanes; ++plane) {
#pragma GCC unroll 2
        for (int part = 0; part < Codes::kParts; ++part) {
          transpose(rows[plane][part]);
          uint8_t* to = tile.bytes + plane * k * kTileColumns + (j / kSlotColumns + part) * kSlot;
#pragma GCC unroll 8
          for (int q = 0; q < kRows; ++q) {
            if (q >= count) break;
            store_bytes(to + q * Codes::kParts * kSlot + first * kSlotColumns,
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

void fill_scales(const QuantizedDotArgs& a, int64_t n, const Tile& tile) {
  const QuantizedMatrix& w = *a.w;
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

}  // namespace
}  // namespace pippin::kernels
