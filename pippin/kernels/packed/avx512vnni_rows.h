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

#include "pippin/kernels/packed/avx512vnni_blocks.h"
#include "pippin/kernels/packed/avx512vnni_codes.h"

namespace pippin::kernels {
namespace {

// Prefetched in each of four streams: what is on its way covers the memory's latency.
constexpr int64_t kAheadBytes = 1024;

// kRows rows of x from row i on times kColumns rows of W.
template <typename Codes, bool kBlocks, int kRows, int kColumns>
PIPPIN_VEC void multiply_codes(const PackedDotArgs& a, int64_t i,
                               const int64_t (&column)[kColumns]) {
  constexpr int kParts = Codes::kParts, kPlanes = Codes::kPlanes;
  constexpr int64_t kWidth = 64 * kParts, kBytes = kWidth * Codes::kBits / 8;
  const PackedMatrix& w = *a.w;
  const QuantizedRows& x = *a.x;
  const int64_t units = x.padded / x.unit, row_bytes = x.k * Codes::kBits / 8;
  const int64_t groups = x.padded / x.group;
  float* unit_scales = static_cast<float*>(a.scratch);  // [column][row][units + 16]
  const int64_t stride = units + 16;
  Codes codes[kColumns];
  const uint8_t* p[kColumns];
  __m512 total[kColumns][kRows], offset_total[kColumns][kRows];
#pragma GCC unroll 8
  for (int c = 0; c < kColumns; ++c) {
    codes[c].start(w, column[c]);
    p[c] = w.codes + column[c] * row_bytes;
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) total[c][r] = offset_total[c][r] = _mm512_setzero_ps();
    if constexpr (kBlocks) {
      const BlockRow blocks(w, column[c], x.unit);
      int64_t u = 0;
      if (blocks.plain) {
        for (; u + 16 <= w.blocks_per_row; u += 16) {
          const __m512 scales = blocks.get_plain(u);
#pragma GCC unroll 8
          for (int r = 0; r < kRows; ++r) {
            _mm512_storeu_ps(
                unit_scales + (c * kRows + r) * stride + u,
                _mm512_mul_ps(scales, _mm512_loadu_ps(x.scales + (i + r) * units + u)));
          }
        }
      }
      for (; u < units; u += 16) {
        __m512 scales, offsets;
        blocks.get(u, scales, offsets);
#pragma GCC unroll 8
        for (int r = 0; r < kRows; ++r) {
          _mm512_storeu_ps(unit_scales + (c * kRows + r) * stride + u,
                           _mm512_mul_ps(scales, _mm512_loadu_ps(x.scales + (i + r) * units + u)));
          if (w.offset_type != OffsetType::None) {
            offset_total[c][r] =
                _mm512_fmadd_ps(_mm512_mul_ps(scales, offsets),
                                _mm512_loadu_ps(x.sums + (i + r) * units + u), offset_total[c][r]);
          }
        }
      }
    }
  }
  const int64_t lanes_per_unit = x.unit / (4 * kParts);
  const __m512i unit_of_lane =
      _mm512_srli_epi32(_mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0),
                        lanes_per_unit == 8   ? 3
                        : lanes_per_unit == 4 ? 2
                                              : 1);
  const int64_t step = 16 / lanes_per_unit;
  const int64_t chunks = (x.k + kWidth - 1) / kWidth;
  const auto chunk = [&](int64_t at, int64_t left) __attribute__((always_inline)) {
    __m512i weights[kColumns][kPlanes][kParts];
#pragma GCC unroll 8
    for (int c = 0; c < kColumns; ++c) {
      __builtin_prefetch(p[c] + at * kBytes + kAheadBytes);
      codes[c].load(p[c] + at * kBytes, left, weights[c]);
    }
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const int8_t* values = x.values + (i + r) * x.padded + at * kWidth;
      const __m512i start = _mm512_loadu_si512(x.starts + (i + r) * groups + at * 16);
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
        const float* scales =
            kBlocks ? unit_scales + (c * kRows + r) * stride : x.scales + (i + r) * units;
        total[c][r] = _mm512_fmadd_ps(
            _mm512_cvtepi32_ps(sum),
            _mm512_permutexvar_ps(unit_of_lane, _mm512_loadu_ps(scales + at * step)), total[c][r]);
      }
    }
  };
  for (int64_t at = 0; at + 1 < chunks; ++at) chunk(at, kBytes);
  chunk(chunks - 1, row_bytes - (chunks - 1) * kBytes);
#pragma GCC unroll 8
  for (int c = 0; c < kColumns; ++c) {
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      float y;
      if constexpr (kBlocks) {
        y = sum({_mm512_sub_ps(total[c][r], offset_total[c][r])});
      } else {
        y = sum({total[c][r]});
        if (w.offset_type != OffsetType::None) {
          __m512 sums = _mm512_setzero_ps();
          for (int64_t u = 0; u < units; u += 16) {
            sums = _mm512_add_ps(sums, _mm512_loadu_ps(x.sums + (i + r) * units + u));
          }
          y -= row_offset(w, column[c]) * sum({sums});
        }
        y *= row_scale(w, column[c]);
      }
      if (a.bias != nullptr) y += a.bias[column[c]];
      a.y[(i + r) * a.y_stride + column[c]] = y;
    }
  }
}

// Columns are taken from a few places far apart, each read from end to end as one stream.
template <typename Codes, bool kBlocks, int kRows, int kColumns>
void few_rows(const PackedDotArgs& a) {
  const int64_t columns = a.n_end - a.n_begin;
  const int64_t rounds = (columns + kColumns - 1) / kColumns;
  for (int64_t j = 0; j < rounds; ++j) {
    int64_t column[kColumns];
#pragma GCC unroll 8
    for (int c = 0; c < kColumns; ++c) {
      const int64_t at = a.n_begin + c * rounds + j;
      column[c] = at < a.n_end ? at : a.n_end - 1;
    }
    multiply_codes<Codes, kBlocks, kRows, kColumns>(a, 0, column);
  }
}

template <typename Codes, bool kBlocks>
void few_rows(const PackedDotArgs& a) {
  switch (a.x->m) {
    case 1:
      return few_rows<Codes, kBlocks, 1, 4>(a);
    case 2:
      return few_rows<Codes, kBlocks, 2, 2>(a);
    case 3:
      return few_rows<Codes, kBlocks, 3, 2>(a);
    case 4:
      return few_rows<Codes, kBlocks, 4, 2>(a);
    default:
      return;
  }
}

}  // namespace
}  // namespace pippin::kernels
