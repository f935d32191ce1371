// The table of quantized_dot.h over the vectors (vec/) and bytes of whichever instruction set its
// includer chose. Beside vec/, that has to bring:
//
//   B                  a register of kByteLanes = 4 * kLanes bytes, with load_bytes, store_bytes,
//                      repeat4 (four bytes in every lane), flip, cut_nibbles (both halves of
//                      bytes, flipped); words and bytes between B and I
//   kPartLoads         whether loads may be of the first bytes of a register, zeros in the others
//   unpack<bits>       kByteLanes codes, and kUnpackSlack<bits>, the bytes it may read behind them
//   unpack_loose, loose_low, loose_high
//                      codes as ByteTable takes them: other bits may stand above
//   ByteTable<bits>    2^bits bytes looked up by code
//   widen, nibble_lanes, lane_numbers, pick, look_up, spread: see the AVX2 ones
//   kSignedBytes       whether weights are multiplied as signed bytes, or as unsigned ones
//   Wide, wide, dot4   lane l += the sum over i < 4 of w[4l + i] * x[4l + i], for any byte w
//   NibbleSum          the same for w of 0 .. 15, up to eight products in a lane's byte
//   kTileRows          rows of x that the registers hold with kTileColumns rows of W
//
// then few rows, vector_rows.h or its own:
//
//   kFewRows           how many they are
//   kPairs             QuantizedDotKernels::pairs
//   few_rows           a range of rows of W by them
//
// and the tiles of many rows, vector_tiles.h or its own:
//
//   kSlotColumns       columns that lie together in a tile (vector_slots.h)
//   kRowPairs          whether the values of two rows of x lie together (QuantizedRows::row_pairs)
//   multiply_rows      all rows of x by a tile
#pragma once

#include "pippin/kernels/quantized_dot/vector_expand.h"
#include "pippin/kernels/quantized_dot/vector_quantize.h"
#include "pippin/kernels/quantized_dot/vector_slots.h"

namespace pippin::kernels {
namespace {

template <typename Codes>
void many_rows(const QuantizedDotArgs& a) {
  const int64_t units = a.x->k / a.x->unit;
  char* scratch = static_cast<char*>(a.scratch);
  Tile tile{};
  tile.bytes = reinterpret_cast<uint8_t*>(scratch);
  tile.scales = reinterpret_cast<float*>(scratch + a.x->k * kTileColumns * Codes::kPlanes);
  tile.offset_scales = tile.scales + units * kTileColumns;
  using Form = TileForm<Codes::kNibbles, Codes::kParts, Codes::kPlanes>;
  for (int64_t n = a.n_begin; n < a.n_end; n += kTileColumns) {
    fill_bytes<Codes, kSlotColumns>(a, n, tile);
    fill_scales(a, n, tile);
    if constexpr (!Codes::kPalette) {
      if (a.x->unit == 16) {
        multiply_rows<Form, 16>(a, n, tile);
        continue;
      }
    }
    multiply_rows<Form, 32>(a, n, tile);
  }
}

template <typename Codes>
void dot_codes(const QuantizedDotArgs& a) {
  if (a.x->m > kFewRows) return many_rows<Codes>(a);
  if (a.w->blocks_per_row == 1) return few_rows<Codes, false, 32>(a);
  if constexpr (!Codes::kPalette) {
    return a.x->unit == 16 ? few_rows<Codes, true, 16>(a) : few_rows<Codes, true, 32>(a);
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
          .signed_bytes = kSignedBytes,
          .pairs = kPairs,
          .row_pairs = kRowPairs};
}

}  // namespace
}  // namespace pippin::kernels
