// The table of packed.h over the vectors (vec/) and bytes of whichever instruction set its includer
// chose. Beside vec/, that has to bring:
//
//   B                  a register of kByteLanes = 4 * kLanes bytes, with load_bytes, store_bytes,
//                      repeat4 (four bytes in every lane), flip, low_nibbles, high_nibbles;
//                      words and bytes between B and I; transpose of kLanes registers
//   unpack<bits>       kByteLanes codes, and kUnpackSlack<bits>, the bytes it may read behind them
//   ByteTable<bits>    2^bits bytes looked up by code
//   widen, nibble_lanes, lane_numbers, pick, pick16, spread: see the AVX2 ones
//   kSignedBytes       whether weights are multiplied as signed bytes, or as unsigned ones
//   Wide, wide, dot4   lane l += the sum over i < 4 of w[4l + i] * x[4l + i], for any byte w
//   NibbleSum          the same for w of 0 .. 15, up to eight products in a lane's byte
//   kTileRows          rows of x that the registers hold with 16 rows of W
#pragma once

#include "pippin/kernels/packed/vector_expand.h"
#include "pippin/kernels/packed/vector_quantize.h"
#include "pippin/kernels/packed/vector_rows.h"
#include "pippin/kernels/packed/vector_tiles.h"

namespace pippin::kernels {
namespace {

template <typename Codes>
void dot_codes(const PackedDotArgs& a) {
  if (a.x->m > kFewRows) return many_rows<Codes>(a);
  if (a.w->blocks_per_row == 1) return few_rows<Codes, false, 32>(a);
  if constexpr (!Codes::kPalette) {
    return a.x->unit == 16 ? few_rows<Codes, true, 16>(a) : few_rows<Codes, true, 32>(a);
  }
}

void dot(const PackedDotArgs& a) noexcept {
  if (a.x->m == 0 || a.n_begin >= a.n_end) return;
  const PackedMatrix& w = *a.w;
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

constexpr PackedKernels packed_table(const char* name) {
  return {name, expand, quantize, dot, kFewRows, kSignedBytes};
}

}  // namespace
}  // namespace pippin::kernels
