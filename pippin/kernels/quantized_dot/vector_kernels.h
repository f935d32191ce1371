// The table of quantized_dot.h over the vectors (vec/) and bytes of whichever instruction set its
// includer chose. In addition to vec/, the includer defines:
//
//   B                  a register of kByteLanes = 4 * kLanes bytes, with load_bytes, store_bytes,
//                      repeat4 (four bytes in every lane), flip, cut_nibbles (both halves of
//                      bytes, flipped); words and bytes between B and I
//   kPartLoads         whether loads may be of the first bytes of a register, zeros in the others
//   unpack<bits>       kByteLanes codes, and kUnpackSlack<bits>, the bytes it may read after them
//   unpack_loose, loose_low, loose_high
//                      codes in the form for ByteTable: higher bits may be set
//   ByteTable<bits>    2^bits bytes looked up by code
//   widen, nibble_lanes, lane_numbers, pick, look_up
//                      see the AVX2 ones
//   repeat_four_of, transpose_fours, add_fours, split_fours
//                      of each four lanes, see the AVX2 ones
//   kSignedBytes       whether weights are multiplied as signed bytes, or as unsigned ones
//   Wide, wide, dot4   lane l += the sum over i < 4 of w[4l + i] * x[4l + i], for any byte w
//   NibbleSum          the same for w of 0 .. 15, up to eight products in a lane's byte
//   kTileRows          rows of x that the registers hold with kTileColumns rows of W; even
//
// then the tiles of many rows, vector_tiles.h or its own:
//
//   kSlotColumns       columns that are adjacent in a piece of a tile (vector_slots.h)
//   kRowPairs          whether the values of two rows of x alternate (QuantizedRows::row_pairs)
//   tile_steps         how often multiply_rows fetches of the next piece
//   multiply_rows      adds the products of rows of x with a piece to the tile's totals
//   finish_rows        results of a tile's totals
#pragma once

#include "pippin/kernels/quantized_dot/vector_expand.h"
#include "pippin/kernels/quantized_dot/vector_few.h"
#include "pippin/kernels/quantized_dot/vector_offsets.h"
#include "pippin/kernels/quantized_dot/vector_quantize.h"
#include "pippin/kernels/quantized_dot/vector_slots.h"
#include "pippin/kernels/quantized_dot/vector_turned.h"

namespace pippin::kernels {
namespace {

template <typename Codes, bool kBlocks, int64_t kUnit>
void many_rows(const QuantizedDotArgs& a) {
  constexpr int64_t kColumns = kPieceColumns<Codes>;
  using Form = TileForm<Codes::kNibbles, Codes::kParts, Codes::kPlanes, kBlocks>;
  constexpr int64_t kWhole = 2 * Form::kBehind;  // number of columns whose units are in pieces
  const int64_t k = a.x->k;
  char* scratch = static_cast<char*>(a.scratch);
  Tile tile{};
  tile.bytes = reinterpret_cast<uint8_t*>(scratch);
  tile.plane_bytes = kColumns * kTileColumns;
  tile.scales = reinterpret_cast<float*>(scratch + tile.plane_bytes * Codes::kPlanes);
  tile.totals = tile.scales + kColumns / kUnit * kTileColumns;
  for (int64_t i = 0; i < a.x->m; i += kMostTotals) {
    const int64_t rows = smaller_of(kMostTotals, a.x->m - i);
    for (tile.n = a.n_begin; tile.n < a.n_end; tile.n += kTileColumns) {
      for (tile.begin = 0; tile.begin < k; tile.begin += kColumns) {
        const int64_t left = (k - tile.begin + kWhole - 1) / kWhole * kWhole;
        tile.count = smaller_of(kColumns, left);
        fill_bytes<Codes, kSlotColumns>(a, tile);
        if constexpr (kBlocks) fill_scales(a, tile);
        NextPiece next;
        next.start<Codes>(a, tile, tile_steps(rows, tile.count / kUnit));
        multiply_rows<Form, kUnit>(a, i, rows, tile, next);
      }
      finish_rows<kBlocks>(a, i, rows, tile);
    }
  }
}

template <typename Codes, bool kBlocks, int64_t kUnit>
void dot_rows(const QuantizedDotArgs& a) {
  if (a.x->m > kFewRowsOf<Codes>) {
    many_rows<Codes, kBlocks, kUnit>(a);
  } else if (!kTurns<Codes, kUnit> || a.x->m < kLeastTurned) {
    few_rows<Codes, kBlocks, kUnit>(a);
  } else if constexpr (kTurns<Codes, kUnit>) {
    turned_rows<kBlocks>(a);
  }
  if constexpr (kBlocks) subtract_offsets(a);
}

template <typename Codes>
void dot_codes(const QuantizedDotArgs& a) {
  // A row that is one block is scaled after all additions, unless its offsets are scaled already.
  if (a.w->blocks_per_row == 1 && !a.w->scaled_offsets) {
    return dot_rows<Codes, false, 32>(a);
  }
  if constexpr (!Codes::kPalette) {
    return a.x->unit == 16 ? dot_rows<Codes, true, 16>(a) : dot_rows<Codes, true, 32>(a);
  }
}

void dot(const QuantizedDotArgs& a) noexcept {
  if (a.x->m == 0 || a.n_begin >= a.n_end) return;
  const QuantizedMatrix& w = *a.w;
  if (w.scales != nullptr) {
    return w.bits == 4 ? dot_codes<AffineNibbles>(a) : dot_codes<AffineBytes>(a);
  }
  switch (w.bits) {
    case 1:
      return dot_codes<Palette<1>>(a);
    case 2:
      return dot_codes<Palette<2>>(a);
    case 3:
      return dot_codes<Palette<3>>(a);
    case 4:
      return dot_codes<Palette<4>>(a);
    case 6:
      return dot_codes<Palette<6>>(a);
    default:
      return dot_codes<Palette<8>>(a);
  }
}

constexpr QuantizedDotKernels quantized_dot_table(const char* name) {
  return {.name = name,
          .expand = expand,
          .quantize = quantize,
          .dot = dot,
          .few_rows = kFewRows,
          .few_nibble_rows = kFewNibbleRows,
          .few_palette_rows = kFewPaletteRows,
          .signed_bytes = kSignedBytes,
          .row_pairs = kRowPairs,
          .behind = kBehind};
}

}  // namespace
}  // namespace pippin::kernels
