// Few rows of activations (vector_few.h), for every instruction set: a step, unrolled, has the
// columns of 128 values or more, and whole registers of scales.
#pragma once

#include "pippin/kernels/quantized_dot/vector_few.h"

namespace pippin::kernels {
namespace {

constexpr bool kPairs = false;

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
      s == 0 ? nibbles.start(sum, weights[s][0][0], load_bytes(even))
             : nibbles.add(weights[s][0][0], load_bytes(even));
      nibbles.add(weights[s][0][1], load_bytes(even + 64));
    }
    return nibbles.total();
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
  const FewRows<kRows> row(x);
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
        const F of_x = load(x.scales + row.at[r] * units + u);
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
          codes[c].load(here, kSetBytes, weights[s]);
        }
#pragma GCC unroll 4
        for (int r = 0; r < kRows; ++r) {
          const I sum =
              multiply_sets<Codes, kSets>(weights, x.values + row.at[r] * x.padded + place,
                                          x.starts + row.at[r] * groups + start);
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
  finish_rows<kBlocks, kUnit>(a, row, column, blocks, total);
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
