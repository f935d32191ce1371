// A tile of many rows: kTileColumns rows of W as bytes, and their scales, one for each unit of
// columns, laid out for the products of the includer's tiles. Over the vectors and bytes of the
// includer.
//
//   tile [planes][slots][kTileColumns rows of W][kSlotColumns]: a slot has 4 columns, or 8; a
//        register has them of kByteLanes / kSlotColumns rows. Of nibbles the slots take turns: the
//        even columns of twice as many, the odd ones
//
// What turns rows into slots is transpose() of as many registers as a register has rows.
#pragma once

#include <type_traits>

#include "pippin/kernels/quantized_dot/vector_codes.h"

namespace pippin::kernels {
namespace {

constexpr int64_t kTileColumns = kLanes < 16 ? 16 : 2 * kLanes;

struct Tile {
  uint8_t* bytes;
  float* scales;         // [units][kTileColumns]
  float* offset_scales;  // the same: offset * scale
};

// Rows become columns.
PIPPIN_VEC void transpose(I (&r)[kLanes]) {
  F lanes[kLanes];
#pragma GCC unroll 16
  for (int i = 0; i < kLanes; ++i) lanes[i] = floats(r[i]);
  transpose(lanes);
#pragma GCC unroll 16
  for (int i = 0; i < kLanes; ++i) r[i] = bits(lanes[i]);
}

template <typename Codes, int64_t kSlotColumns>
void fill_bytes(const QuantizedDotArgs& a, int64_t n, const Tile& tile) {
  constexpr int64_t kRows = kByteLanes / kSlotColumns;  // in a register
  constexpr int64_t kSlot = kTileColumns * kSlotColumns;
  constexpr int64_t kSet = kByteLanes * Codes::kParts;
  // Affine nibbles are cut apart when they are transposed: half the work.
  using Loaded = std::conditional_t<Codes::kNibbles, NibblePairs, Codes>;
  const int64_t k = a.w->k, row_bytes = k * Codes::kBits / 8;
  [[maybe_unused]] AffineNibbles pairs;
  pairs.start(*a.w, n);
  for (int64_t first = 0; first < kTileColumns; first += kRows) {
    Loaded codes[kRows];
    const uint8_t* p[kRows];
    for (int64_t r = 0; r < kRows; ++r) {
      const int64_t column = smaller_of(n + first + r, a.n_end - 1);
      codes[r].start(*a.w, column);
      p[r] = a.w->codes + column * row_bytes;
    }
    for (int64_t j = 0; j < k; j += kSet) {
      I rows[Loaded::kPlanes][Loaded::kParts][kRows];
      const int64_t at = j * Codes::kBits / 8;
#pragma GCC unroll 16
      for (int64_t r = 0; r < kRows; ++r) {
        B bytes[Loaded::kPlanes][Loaded::kParts];
        // The next tile: rows that follow each other closely are no streams to the hardware.
        __builtin_prefetch(p[r] + kTileColumns * row_bytes + at, 0, 2);
        load_set(codes[r], p[r] + at, row_bytes - at, bytes);
#pragma GCC unroll 2
        for (int plane = 0; plane < Loaded::kPlanes; ++plane) {
#pragma GCC unroll 2
          for (int part = 0; part < Loaded::kParts; ++part) {
            rows[plane][part][r] = words(bytes[plane][part]);
          }
        }
      }
      const int64_t count = smaller_of((k - j) / (kSlotColumns * Codes::kParts), kRows);
#pragma GCC unroll 2
      for (int plane = 0; plane < Loaded::kPlanes; ++plane) {
#pragma GCC unroll 2
        for (int part = 0; part < Loaded::kParts; ++part) {
          transpose(rows[plane][part]);
          uint8_t* to = tile.bytes + plane * k * kTileColumns + (j / kSlotColumns + part) * kSlot +
                        first * kSlotColumns;
#pragma GCC unroll 16
          for (int q = 0; q < kRows; ++q) {
            if (q >= count) break;
            const B slot = bytes(rows[plane][part][q]);
            if constexpr (Codes::kNibbles) {
              B low, high;
              pairs.cut(slot, low, high);
              store_bytes(to + 2 * q * kSlot, low);
              store_bytes(to + (2 * q + 1) * kSlot, high);
            } else {
              store_bytes(to + q * Codes::kParts * kSlot, slot);
            }
          }
        }
      }
    }
  }
}

// One register of scales a unit at a time.
PIPPIN_VEC void store_units(float* to, int64_t count, F (&rows)[kLanes]) {
  transpose(rows);
  for (int64_t u = 0; u < count; ++u) store(to + u * kTileColumns, rows[u]);
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
