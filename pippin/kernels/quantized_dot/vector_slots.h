// A piece of a tile: kTileColumns rows of W, some columns of each as bytes, and their scales, one
// per unit of columns, laid out for the products of the includer's tiles. It stays in the
// first-level cache while it is multiplied with all rows of x. Over the vectors and bytes of the
// includer.
//
//   piece [planes][slots][kTileColumns rows of W][kSlotColumns]: a slot has 4 columns, or 8; a
//         register has them of kByteLanes / kSlotColumns rows. Of nibbles the slots take turns: the
//         even columns of twice as many, the odd ones
//
// transpose() turns rows into slots; it processes as many registers as a register has rows.
#pragma once

#include <type_traits>

#include "pippin/kernels/quantized_dot/vector_codes.h"
#include "pippin/kernels/quantized_dot/vector_order.h"

namespace pippin::kernels {
namespace {

constexpr int64_t kTileColumns = kLanes < 16 ? 16 : 2 * kLanes;

constexpr int64_t kMostTotals = 256;                 // rows of x that a tile processes at once
static_assert(kTileColumns <= 32 && kClasses <= 4);  // assumed by quantized_dot_scratch_bytes()

// The number of columns of a piece, for 16 KB.
template <typename Codes>
constexpr int64_t kPieceColumns = 512 / Codes::kPlanes;

struct Tile {
  int64_t n;       // its first row of W
  uint8_t* bytes;  // of the piece
  float* scales;   // [units][kTileColumns]
  float* totals;   // [rows of x][kClasses][kTileColumns], or in the layout of the includer's tiles
  int64_t begin, count;  // the piece's columns
  int64_t plane_bytes;
};

// The data after a piece, to be prefetched while the piece is multiplied: all at once would wait
// for memory, and the hardware does not see closely spaced rows as streams. It goes into the
// first-level cache: hints for the second one alone are lost on some processors.
struct NextPiece {
  const uint8_t* row;
  int64_t row_bytes, length, at, rows, each;
  const char* scales;   // of the row's first block; null: rows have only one block
  int64_t scale_bytes;  // of a row

  // fetch() must be called `steps` times to fetch everything.
  template <typename Codes>
  PIPPIN_VEC void start(const QuantizedDotArgs& a, const Tile& tile, int64_t steps) {
    constexpr int64_t kColumns = kPieceColumns<Codes>;
    row_bytes = a.x->k * Codes::kBits / 8;
    int64_t begin = tile.begin + kColumns, n = tile.n;
    if (begin >= a.x->k) {
      begin = 0;
      n += kTileColumns;
    }
    row = a.w->codes + n * row_bytes + begin * Codes::kBits / 8;
    length = smaller_of(kColumns, a.x->k - begin) * Codes::kBits / 8;
    rows = smaller_of(kTileColumns, a.n_end - n);
    at = 0;
    scales = nullptr;
    scale_bytes = 0;
    if (const QuantizedMatrix& w = *a.w; w.blocks_per_row > 1 && w.scales != nullptr && rows > 0) {
      const int64_t size = w.scale_type == WeightType::F32 ? 4 : 2;
      scale_bytes = w.blocks_per_row * size;
      scales =
          static_cast<const char*>(w.scales) + (first_block(w, n) + begin / w.block_columns) * size;
    }
    each = (kTileColumns * ((length + 63) / 64) + steps - 1) / steps;
  }
  PIPPIN_VEC void fetch() {
    for (int64_t i = 0; i < each && rows > 0; ++i) {
      __builtin_prefetch(row + at);
      if (scales != nullptr && at == 0) {
        __builtin_prefetch(scales);
        scales += scale_bytes;
      }
      at += 64;
      if (at < length) continue;
      at = 0;
      row += row_bytes;
      --rows;
    }
  }
};

// Transposes the rows.
PIPPIN_VEC void transpose(I (&r)[kLanes]) {
  F lanes[kLanes];
#pragma GCC unroll 16
  for (int i = 0; i < kLanes; ++i) lanes[i] = floats(r[i]);
  transpose(lanes);
#pragma GCC unroll 16
  for (int i = 0; i < kLanes; ++i) r[i] = bits(lanes[i]);
}

template <typename Codes, int64_t kSlotColumns>
void fill_bytes(const QuantizedDotArgs& a, const Tile& tile) {
  constexpr int64_t kRows = kByteLanes / kSlotColumns;  // per register
  constexpr int64_t kSlot = kTileColumns * kSlotColumns;
  constexpr int64_t kSet = kByteLanes * Codes::kParts;
  // Affine nibbles are split after the transposition: half the work.
  using Loaded = std::conditional_t<Codes::kNibbles, NibblePairs, Codes>;
  const int64_t k = tile.count, row_bytes = a.w->k * Codes::kBits / 8;
  const int64_t begin = tile.begin * Codes::kBits / 8;
  [[maybe_unused]] AffineNibbles pairs;
  pairs.start(*a.w, tile.n);
  for (int64_t first = 0; first < kTileColumns; first += kRows) {
    Loaded codes[kRows];
    const uint8_t* p[kRows];
    for (int64_t r = 0; r < kRows; ++r) {
      const int64_t column = smaller_of(tile.n + first + r, a.n_end - 1);
      codes[r].start(*a.w, column);
      p[r] = a.w->codes + column * row_bytes + begin;
    }
    for (int64_t j = 0; j < k; j += kSet) {
      I rows[Loaded::kPlanes][Loaded::kParts][kRows];
      const int64_t at = j * Codes::kBits / 8;
#pragma GCC unroll 16
      for (int64_t r = 0; r < kRows; ++r) {
        B bytes[Loaded::kPlanes][Loaded::kParts];
        load_set(codes[r], p[r] + at, row_bytes - begin - at, bytes);
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
          uint8_t* to = tile.bytes + plane * tile.plane_bytes + (j / kSlotColumns + part) * kSlot +
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

// Stores one register of scales per unit.
PIPPIN_VEC void store_units(float* to, int64_t count, F (&rows)[kLanes]) {
  transpose(rows);
  for (int64_t u = 0; u < count; ++u) store(to + u * kTileColumns, rows[u]);
}

// For rows of several blocks.
void fill_scales(const QuantizedDotArgs& a, const Tile& tile) {
  const QuantizedMatrix& w = *a.w;
  const int64_t unit = a.x->unit, units = tile.count / unit, first_unit = tile.begin / unit;
  const Blocks blocks(w, unit);
  for (int64_t first = 0; first < kTileColumns; first += kLanes) {
    int64_t base[kLanes];
    for (int64_t r = 0; r < kLanes; ++r) {
      base[r] = first_block(w, smaller_of(tile.n + first + r, a.n_end - 1));
    }
    for (int64_t u = 0; u < units; u += kLanes) {
      const int64_t count = smaller_of(units - u, kLanes), at = first_unit + u;
      float* to = tile.scales + u * kTileColumns + first;
      F scales[kLanes];
      if (blocks.plain && at + kLanes <= w.blocks_per_row) {
#pragma GCC unroll 16
        for (int64_t r = 0; r < kLanes; ++r) scales[r] = blocks.get_plain(base[r] + at);
        store_units(to, count, scales);
        continue;
      }
      const BlockSpan span(blocks, at);
      for (int64_t r = 0; r < kLanes; ++r) scales[r] = span.scales(base[r]);
      store_units(to, count, scales);
    }
  }
}

// Loads scales and offsets of kLanes rows of one block from row n on, for finish_row().
PIPPIN_VEC void load_rows(const QuantizedDotArgs& a, int64_t n, F& scale, F& offset) {
  float scales[kLanes], offsets[kLanes];
  for (int64_t r = 0; r < kLanes; ++r) {
    const int64_t column = smaller_of(n + r, a.n_end - 1);
    scales[r] = row_scale(*a.w, column);
    offsets[r] = a.w->offset_type != OffsetType::None ? row_offset(*a.w, column) : 0;
  }
  scale = load(scales);
  offset = load(offsets);
}

// The properties of a kind of codes that the products depend on, so that palettes of all bit widths
// share code.
template <bool kIsNibbles, int kCodeParts, int kCodePlanes, bool kHasBlocks>
struct TileForm {
  static constexpr bool kNibbles = kIsNibbles, kBlocks = kHasBlocks;
  static constexpr int kParts = kCodeParts, kPlanes = kCodePlanes;
  // QuantizedRows::behind, and the columns at which a unit of 32 begins.
  static constexpr int64_t kBehind = kHasBlocks || kParts == 2 ? 16 : kernels::kBehind;
  static PIPPIN_VEC int64_t column_of(int64_t unit) {
    constexpr int64_t kTogether = kBehind / 16;
    return unit / kTogether * 2 * kBehind + unit % kTogether * 16;
  }
  // Column c of a unit, relative to its first one.
  static constexpr int64_t column_in(int64_t c) { return c < 16 ? c : kBehind + c - 16; }
};

}  // namespace
}  // namespace pippin::kernels
