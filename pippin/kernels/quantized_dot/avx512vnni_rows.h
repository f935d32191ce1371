// Few rows of activations (vector_few.h) for AVX-512: steps are a loop, and behind the last whole
// one parts of registers are loaded.
#pragma once

#include "pippin/kernels/quantized_dot/avx512vnni_bytes.h"
#include "pippin/kernels/quantized_dot/vector_few.h"

namespace pippin::kernels {
namespace {

constexpr bool kPairs = true;
constexpr int64_t kLongRow = 5 * 1024;  // columns; longer ones go eight rows at a time

// Two sets of bytes whose units have the same scales (ValueOrder::Paired).
template <typename Codes>
struct Paired {
  static constexpr int kParts = 2, kPlanes = Codes::kPlanes, kBits = Codes::kBits;
  Codes one;
  PIPPIN_VEC void start(const QuantizedMatrix& w, int64_t i) { one.start(w, i); }
  PIPPIN_VEC void load(const uint8_t* p, int64_t left, B (&parts)[kPlanes][2]) const {
    constexpr int64_t kBytes = 8 * kBits;
#pragma GCC unroll 2
    for (int part = 0; part < 2; ++part) {
      B loaded[kPlanes][1];
      one.load(p + part * kBytes, left - part * kBytes, loaded);
#pragma GCC unroll 2
      for (int plane = 0; plane < kPlanes; ++plane) parts[plane][part] = loaded[plane][0];
    }
  }
};

// A register holds the scales of 16 units, which are kSteps chunks of kWidth columns.
template <typename Codes, bool kBlocks, int64_t kUnit, int kRows, int kColumns>
PIPPIN_VEC void multiply_codes(const QuantizedDotArgs& a, const int64_t (&column)[kColumns]) {
  constexpr int kParts = Codes::kParts, kPlanes = Codes::kPlanes;
  constexpr int64_t kWidth = 64 * kParts, kBytes = kWidth * Codes::kBits / 8;
  constexpr int64_t kSteps = 16 * kUnit / kWidth, kUnitsPerStep = 16 / kSteps;
  const QuantizedMatrix& w = *a.w;
  const QuantizedRows& x = *a.x;
  const int64_t units = x.padded / kUnit, row_bytes = x.k * Codes::kBits / 8;
  const int64_t groups = x.padded / x.group;
  const FewRows<kRows> row(x);
  const Blocks blocks(w, kUnit);
  Codes codes[kColumns];
  const uint8_t* p[kColumns];
  int64_t base[kColumns];
  F total[kColumns][kRows], scale[kColumns][kRows];
#pragma GCC unroll 8
  for (int c = 0; c < kColumns; ++c) {
    codes[c].start(w, column[c]);
    p[c] = w.codes + column[c] * row_bytes;
    base[c] = first_block(w, column[c]);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) total[c][r] = set(0);
  }
  constexpr int kLaneShift = kUnitsPerStep == 2 ? 3 : kUnitsPerStep == 4 ? 2 : 1;
  const I unit_of_lane = shift_right<kLaneShift>(lane_numbers());
  const auto load_scales = [&](int64_t u, bool inside) __attribute__((always_inline)) {
    F of_w[kColumns];
    if constexpr (kBlocks) {
      if (inside && blocks.plain) {
#pragma GCC unroll 8
        for (int c = 0; c < kColumns; ++c) of_w[c] = blocks.get_plain(base[c] + u);
      } else {
        const BlockSpan span(blocks, u);
#pragma GCC unroll 8
        for (int c = 0; c < kColumns; ++c) of_w[c] = span.scales(base[c]);
      }
    }
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const F of_x = load(x.scales + row.at[r] * units + u);
#pragma GCC unroll 8
      for (int c = 0; c < kColumns; ++c) scale[c][r] = kBlocks ? of_w[c] * of_x : of_x;
    }
  };
  const auto chunk = [&](int64_t at, int64_t step, int64_t left) __attribute__((always_inline)) {
    const I lane = unit_of_lane + set_i(static_cast<int32_t>(step * kUnitsPerStep));
    B weights[kColumns][kPlanes][kParts];
#pragma GCC unroll 8
    for (int c = 0; c < kColumns; ++c) {
      __builtin_prefetch(p[c] + at * kBytes + kAheadBytes);
      codes[c].load(p[c] + at * kBytes, left, weights[c]);
    }
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const int8_t* values = x.values + row.at[r] * x.padded + at * kWidth;
      const I start = load_i(x.starts + row.at[r] * groups + at * 16);
#pragma GCC unroll 8
      for (int c = 0; c < kColumns; ++c) {
        I sum = start;
#pragma GCC unroll 2
        for (int plane = 0; plane < kPlanes; ++plane) {
          if (plane == 1) sum = shift_left<8>(sum);
#pragma GCC unroll 2
          for (int part = 0; part < kParts; ++part) {
            sum = dot4(sum, weights[c][plane][part], load_bytes(values + 64 * part));
          }
        }
        total[c][r] = fma(to_float(sum), pick(scale[c][r], lane), total[c][r]);
      }
    }
  };
  const int64_t whole = x.k / kWidth / kSteps * kSteps;
  const int64_t chunks = (x.k + kWidth - 1) / kWidth;
  for (int64_t at = 0; at < whole; at += kSteps) {
    load_scales(at * kUnitsPerStep, true);
    for (int64_t step = 0; step < kSteps; ++step) chunk(at + step, step, kBytes);
  }
  if (whole < chunks) {
    load_scales(whole * kUnitsPerStep, false);
    for (int64_t at = whole; at < chunks; ++at) chunk(at, at - whole, row_bytes - at * kBytes);
  }
  finish_rows<kBlocks, kUnit>(a, row, column, blocks, total);
}

template <typename Codes, bool kBlocks, int64_t kUnit>
void few_rows(const QuantizedDotArgs& a) {
  if constexpr (!kBlocks && Codes::kParts == 1) {
    return few_rows<Paired<Codes>, kBlocks, kUnit>(a);
  } else {
    switch (a.x->m) {
      case 1:
        // Beside so many activations what passes of W does not fit the first cache: fewer turns.
        if constexpr (Codes::kPlanes == 1) {
          if (a.x->padded > kLongRow) return few_rows<Codes, kBlocks, kUnit, 1, 8>(a);
        }
        return few_rows<Codes, kBlocks, kUnit, 1, 4>(a);
      case 2:
        return few_rows<Codes, kBlocks, kUnit, 2, 2>(a);
      default:
        return few_rows<Codes, kBlocks, kUnit, 4, 4>(a);
    }
  }
}

}  // namespace
}  // namespace pippin::kernels
