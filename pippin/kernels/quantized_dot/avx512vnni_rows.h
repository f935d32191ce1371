// Few rows of activations: W is read once, from front to back, and multiplied as it is decoded.
// Only for x86_avx512vnni.cpp.
//
//   codes ──► unsigned bytes ──vpdpbusd──► 16 int32 lanes, each a sum of neighbouring columns of
//   one unit ──► fp32 ──fma──► 16 sums of the row, added up at its end
//
// Sums of bytes start at -center * the sum of the activations, so that the bytes' center needs no
// work in the loop; the high bytes of palettes come first and are shifted before the low ones; the
// offsets of blocks are a product of their own, one fma per 16 units.
#pragma once

#include "pippin/kernels/quantized_dot/avx512vnni_blocks.h"
#include "pippin/kernels/quantized_dot/avx512vnni_codes.h"

namespace pippin::kernels {
namespace {

// Prefetched in each of the streams: into the first cache no more than it can have on its way; the
// hardware reads further ahead.
constexpr int64_t kAheadBytes = 256;
constexpr int64_t kLongRow = 5 * 1024;  // columns; longer ones go eight rows at a time

// The part of a row's result that its blocks' offsets make, for one row of x. Once a row: no need
// of a copy in every loop.
__attribute__((noinline)) float sum_offsets(const Blocks& blocks, int64_t base, const float* x_sums,
                                            int64_t units) {
  __m512 total = _mm512_setzero_ps();
  for (int64_t u = 0; u < units; u += 16) {
    const BlockSpan span(blocks, u);
    total = _mm512_fmadd_ps(_mm512_mul_ps(span.scales(base), span.offsets(base)),
                            _mm512_loadu_ps(x_sums + u), total);
  }
  return sum({total});
}

// kRows rows of x times kColumns rows of W; of four rows the last may stand in for an absent one.
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
  int64_t row[kRows];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) row[r] = r < 3 ? r : smaller_of(r, x.m - 1);
  const Blocks blocks(w, kUnit);
  Codes codes[kColumns];
  const uint8_t* p[kColumns];
  int64_t base[kColumns];
  __m512 total[kColumns][kRows], scale[kColumns][kRows];
#pragma GCC unroll 8
  for (int c = 0; c < kColumns; ++c) {
    codes[c].start(w, column[c]);
    p[c] = w.codes + column[c] * row_bytes;
    base[c] = first_block(w, column[c]);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) total[c][r] = _mm512_setzero_ps();
  }
  const __m512i unit_of_lane =
      _mm512_srli_epi32(_mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0),
                        kUnitsPerStep == 2   ? 3
                        : kUnitsPerStep == 4 ? 2
                                             : 1);
  const auto load_scales = [&](int64_t u, bool inside) __attribute__((always_inline)) {
    __m512 of_w[kColumns];
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
      const __m512 of_x = _mm512_loadu_ps(x.scales + row[r] * units + u);
#pragma GCC unroll 8
      for (int c = 0; c < kColumns; ++c) {
        scale[c][r] = kBlocks ? _mm512_mul_ps(of_w[c], of_x) : of_x;
      }
    }
  };
  const auto chunk = [&](int64_t at, int64_t step, int64_t left) __attribute__((always_inline)) {
    const __m512i lane =
        _mm512_add_epi32(unit_of_lane, _mm512_set1_epi32(static_cast<int>(step * kUnitsPerStep)));
    __m512i weights[kColumns][kPlanes][kParts];
#pragma GCC unroll 8
    for (int c = 0; c < kColumns; ++c) {
      __builtin_prefetch(p[c] + at * kBytes + kAheadBytes);
      codes[c].load(p[c] + at * kBytes, left, weights[c]);
    }
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const int8_t* values = x.values + row[r] * x.padded + at * kWidth;
      const __m512i start = _mm512_loadu_si512(x.starts + row[r] * groups + at * 16);
#pragma GCC unroll 8
      for (int c = 0; c < kColumns; ++c) {
        __m512i sum = start;
#pragma GCC unroll 2
        for (int plane = 0; plane < kPlanes; ++plane) {
          if (plane == 1) sum = _mm512_slli_epi32(sum, 8);
#pragma GCC unroll 2
          for (int part = 0; part < kParts; ++part) {
            sum = _mm512_dpbusd_epi32(sum, weights[c][plane][part],
                                      _mm512_loadu_si512(values + 64 * part));
          }
        }
        total[c][r] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum),
                                      _mm512_permutexvar_ps(lane, scale[c][r]), total[c][r]);
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
  const bool has_offsets = w.offset_type != OffsetType::None;
#pragma GCC unroll 8
  for (int c = 0; c < kColumns; ++c) {
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const float* x_sums = x.sums + row[r] * units;
      float y = sum({total[c][r]});
      if constexpr (kBlocks) {
        if (has_offsets) y -= sum_offsets(blocks, base[c], x_sums, units);
      } else {
        if (has_offsets) {
          __m512 sums = _mm512_setzero_ps();
          for (int64_t u = 0; u < units; u += 16) {
            sums = _mm512_add_ps(sums, _mm512_loadu_ps(x_sums + u));
          }
          y -= row_offset(w, column[c]) * sum({sums});
        }
        y *= row_scale(w, column[c]);
      }
      if (a.bias != nullptr) y += a.bias[column[c]];
      a.y[row[r] * a.y_stride + column[c]] = y;
    }
  }
}

template <typename Codes, bool kBlocks, int64_t kUnit, int kRows, int kColumns>
void few_rows(const QuantizedDotArgs& a) {
  const RowStreams<kColumns> streams(a.n_begin, a.n_end, a.x->k * Codes::kBits / 8);
  for (int64_t j = 0; j < streams.length; ++j) {
    int64_t column[kColumns];
#pragma GCC unroll 8
    for (int c = 0; c < kColumns; ++c) column[c] = streams.row(c, j);
    multiply_codes<Codes, kBlocks, kUnit, kRows, kColumns>(a, column);
  }
}

template <typename Codes, bool kBlocks, int64_t kUnit>
void few_rows(const QuantizedDotArgs& a) {
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

}  // namespace
}  // namespace pippin::kernels
