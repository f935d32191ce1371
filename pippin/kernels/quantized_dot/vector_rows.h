// Few rows of activations: W is read once, from front to back, and multiplied as it is decoded,
// over the vectors and bytes of the includer.
//
//   codes ──► bytes ──dot──► int32 lanes, each a sum of neighbouring columns of one unit ──► fp32
//   ──fma──► kLanes sums of the row, added up at its end
//
// Sums of bytes start at -center * the sum of the activations, so that the bytes' center needs no
// work in the loop; the high bytes of palettes come first and are shifted before the low ones; the
// offsets of blocks are a product of their own, one fma for each kLanes units.
#pragma once

#include "pippin/kernels/quantized_dot/vector_codes.h"

namespace pippin::kernels {
namespace {

constexpr int64_t kFewRows = 4;

// Prefetched in each stream: into the first cache no more than it can have on its way; the hardware
// reads further ahead.
constexpr int64_t kAheadBytes = 256;

// The part of a row's result that its blocks' offsets make, for each row of x. Once a row of W: no
// need of a copy in every loop.
template <int kRows>
__attribute__((noinline)) void sum_offsets(const Blocks& blocks, int64_t base,
                                           const float* const (&x_sums)[kRows], int64_t units,
                                           float (&result)[kRows]) {
  F total[kRows];
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) total[r] = set(0);
  for (int64_t u = 0; u < units; u += kLanes) {
    const BlockSpan span(blocks, u);
    const F both = span.scales(base) * span.offsets(base);
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) total[r] = fma(both, load(x_sums[r] + u), total[r]);
  }
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) result[r] = sum(total[r]);
}

// The products of the sets of one unit, or of one set of several units, as int32 lanes.
template <typename Codes, int kSets>
PIPPIN_VEC I multiply_sets(const B (&weights)[kSets][Codes::kPlanes][Codes::kParts],
                           const int8_t* values, const int32_t* starts) {
  I sum = load_i(starts);
#pragma GCC unroll 2
  for (int s = 1; s < kSets; ++s) sum = sum + load_i(starts + s * kLanes);
  if constexpr (Codes::kNibbles) {
    NibbleSum nibbles;
#pragma GCC unroll 2
    for (int s = 0; s < kSets; ++s) {
      const int8_t* even = values + s * kByteLanes;
      s == 0 ? nibbles.start(weights[s][0][0], load_bytes(even))
             : nibbles.add(weights[s][0][0], load_bytes(even));
      nibbles.add(weights[s][0][1], load_bytes(even + 64));
    }
    return nibbles.total(sum);
  } else {
#pragma GCC unroll 2
    for (int plane = 0; plane < Codes::kPlanes; ++plane) {
      if (plane == 1) sum = shift_left<8>(sum);
#pragma GCC unroll 2
      for (int s = 0; s < kSets; ++s) {
#pragma GCC unroll 2
        for (int part = 0; part < Codes::kParts; ++part) {
          sum = dot4(sum, wide(weights[s][plane][part]),
                     load_bytes(values + s * kByteLanes + 64 * part));
        }
      }
    }
    return sum;
  }
}

// kRows rows of x times kColumns rows of W; of four rows the last may stand in for absent ones. A
// step has the columns of 128 values or more, and whole registers of scales.
template <typename Codes, bool kBlocks, int64_t kUnit, int kRows, int kColumns>
PIPPIN_VEC void multiply_codes(const QuantizedDotArgs& a, const int64_t (&column)[kColumns]) {
  constexpr int64_t kSet = kByteLanes * Codes::kParts;
  constexpr int64_t kStep = kLanes * kUnit > 128 ? kLanes * kUnit : 128;
  constexpr int kScales = kStep / (kLanes * kUnit);
  constexpr int kSets = kSet < kUnit ? kUnit / kSet : 1;   // taken together
  constexpr int kUnits = kSet < kUnit ? 1 : kSet / kUnit;  // in the lanes of a sum
  constexpr int64_t kSetBytes = kSet * Codes::kBits / 8, kBytes = kStep * Codes::kBits / 8;
  const QuantizedMatrix& w = *a.w;
  const QuantizedRows& x = *a.x;
  const int64_t units = x.padded / kUnit, row_bytes = x.k * Codes::kBits / 8;
  const int64_t groups = x.padded / x.group;
  int64_t row[kRows];
  const float* x_sums[kRows];
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
    row[r] = r < 3 ? r : smaller_of(r, x.m - 1);
    x_sums[r] = x.sums + row[r] * units;
  }
  const Blocks blocks(w, kUnit);
  Codes codes[kColumns];
  int64_t base[kColumns];
  F total[kColumns][kRows];
#pragma GCC unroll 4
  for (int c = 0; c < kColumns; ++c) {
    codes[c].start(w, column[c]);
    base[c] = first_block(w, column[c]);
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) total[c][r] = set(0);
  }
  struct {
    alignas(64) uint8_t at[kBytes + kSlack<Codes>];
  } last[kColumns];
  for (int64_t j = 0; j < x.k; j += kStep) {
    const int64_t byte = j * Codes::kBits / 8;
    const bool inside = byte + kBytes + kSlack<Codes> <= row_bytes;
    const uint8_t* p[kColumns];
#pragma GCC unroll 4
    for (int c = 0; c < kColumns; ++c) {
      p[c] = w.codes + column[c] * row_bytes + byte;
      if (inside) continue;
      // What is left of the row, with zeros after it.
      for (int64_t i = 0; i < kBytes + kSlack<Codes>; ++i) {
        last[c].at[i] = byte + i < row_bytes ? p[c][i] : 0;
      }
      p[c] = last[c].at;
    }
    F scale[kColumns][kRows][kScales];
#pragma GCC unroll 2
    for (int s = 0; s < kScales; ++s) {
      const int64_t u = j / kUnit + s * kLanes;
      F of_w[kColumns];
      if constexpr (kBlocks) {
        if (inside && blocks.plain) {
#pragma GCC unroll 4
          for (int c = 0; c < kColumns; ++c) of_w[c] = blocks.get_plain(base[c] + u);
        } else {
          const BlockSpan span(blocks, u);
#pragma GCC unroll 4
          for (int c = 0; c < kColumns; ++c) of_w[c] = span.scales(base[c]);
        }
      }
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) {
        const F of_x = load(x.scales + row[r] * units + u);
#pragma GCC unroll 4
        for (int c = 0; c < kColumns; ++c) scale[c][r][s] = kBlocks ? of_w[c] * of_x : of_x;
      }
    }
    const auto chunk = [&](int64_t at) __attribute__((always_inline)) {
      const int64_t place = value_place<Codes::kParts>(j + at);
      const int64_t start = (j + at) / (4 * Codes::kParts);
      const int scales = static_cast<int>(at / kUnit / kLanes);
      const int unit = static_cast<int>(at / kUnit % kLanes);
#pragma GCC unroll 4
      for (int c = 0; c < kColumns; ++c) {
        B weights[kSets][Codes::kPlanes][Codes::kParts];
#pragma GCC unroll 2
        for (int s = 0; s < kSets; ++s) {
          const uint8_t* here = p[c] + (at / kSet + s) * kSetBytes;
          __builtin_prefetch(here + kAheadBytes);
          codes[c].load(here, weights[s]);
        }
#pragma GCC unroll 4
        for (int r = 0; r < kRows; ++r) {
          const I sum = multiply_sets<Codes, kSets>(weights, x.values + row[r] * x.padded + place,
                                                    x.starts + row[r] * groups + start);
          total[c][r] = fma(to_float(sum), spread<kUnits>(scale[c][r][scales], unit), total[c][r]);
        }
      }
    };
    // Large bodies are not unrolled: they would be several times larger, and no quicker.
    if constexpr (kRows == 1 && Codes::kBits >= 4 && Codes::kPlanes * Codes::kBits <= 8) {
#pragma GCC unroll 8
      for (int64_t at = 0; at < kStep; at += kSet * kSets) chunk(at);
    } else {
#pragma GCC unroll 2
      for (int64_t at = 0; at < kStep; at += kSet * kSets) chunk(at);
    }
  }
#pragma GCC unroll 4
  for (int c = 0; c < kColumns; ++c) {
    const bool has_offsets = w.offset_type != OffsetType::None;
    float offsets[kRows] = {};
    if constexpr (kBlocks) {
      if (has_offsets) sum_offsets(blocks, base[c], x_sums, units, offsets);
    }
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      float y = sum(total[c][r]);
      if constexpr (kBlocks) {
        y -= offsets[r];
      } else {
        if (has_offsets) {
          F sums = set(0);
          for (int64_t u = 0; u < units; u += kLanes) sums = sums + load(x_sums[r] + u);
          y = __builtin_fmaf(-row_offset(w, column[c]), sum(sums), y);
        }
        y *= row_scale(w, column[c]);
      }
      a.y[row[r] * a.y_stride + column[c]] = a.bias != nullptr ? y + a.bias[column[c]] : y;
    }
  }
}

template <typename Codes, bool kBlocks, int64_t kUnit, int kRows, int kColumns>
void few_rows(const QuantizedDotArgs& a) {
  const RowStreams<kColumns> streams(a.n_begin, a.n_end, a.x->k * Codes::kBits / 8);
  for (int64_t j = 0; j < streams.length; ++j) {
    int64_t column[kColumns];
#pragma GCC unroll 4
    for (int c = 0; c < kColumns; ++c) column[c] = streams.row(c, j);
    multiply_codes<Codes, kBlocks, kUnit, kRows, kColumns>(a, column);
  }
}

template <typename Codes, bool kBlocks, int64_t kUnit>
void few_rows(const QuantizedDotArgs& a) {
  switch (a.x->m) {
    case 1:
      return few_rows<Codes, kBlocks, kUnit, 1, 4>(a);
    case 2:
      return few_rows<Codes, kBlocks, kUnit, 2, 2>(a);
    default:
      return few_rows<Codes, kBlocks, kUnit, 4, 2>(a);
  }
}

}  // namespace
}  // namespace pippin::kernels
