// Many rows of activations: 32 rows of W at a time become bytes, laid out so that a register holds
// four columns of 16 rows, and meet every row of x. Only for x86_avx512vnni.cpp.
//
//   tile [k / 4][32 rows of W][4 columns]: two registers for each four columns; of palettes
//        first the high bytes, then the low ones
//   x    four columns of one row, repeated in every lane
//   y    6 rows x 32 columns in 12 registers of int32, scaled and added to 12 of fp32 every unit
#pragma once

#include "pippin/kernels/packed/avx512vnni_blocks.h"
#include "pippin/kernels/packed/avx512vnni_codes.h"

namespace pippin::kernels {
namespace {

constexpr int64_t kTileColumns = 32;
constexpr int kTileRows = 6;

struct Tile {
  uint8_t* bytes;        // // [planes][k / 4][32][4]
  float* scales;         // [units][32]
  float* offset_scales;  // [units][32]: offset * scale
};

// Sixteen registers of sixteen 32-bit lanes, transposed.
PIPPIN_VEC void transpose16(__m512i (&r)[16]) {
  __m512i t[16];
#pragma GCC unroll 8
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_epi32(r[i], r[i + 1]);
    t[i + 1] = _mm512_unpackhi_epi32(r[i], r[i + 1]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 16; i += 4) {
    r[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
    r[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
    r[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
    r[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
  }
  // r[4b + c] has column c (of each four) of the rows 4b..4b+3 in its 128-bit quarters.
#pragma GCC unroll 4
  for (int c = 0; c < 4; ++c) {
    const __m512i a = _mm512_shuffle_i32x4(r[c], r[4 + c], 0x88);
    const __m512i b = _mm512_shuffle_i32x4(r[c], r[4 + c], 0xdd);
    const __m512i d = _mm512_shuffle_i32x4(r[8 + c], r[12 + c], 0x88);
    const __m512i e = _mm512_shuffle_i32x4(r[8 + c], r[12 + c], 0xdd);
    t[c] = _mm512_shuffle_i32x4(a, d, 0x88);
    t[8 + c] = _mm512_shuffle_i32x4(a, d, 0xdd);
    t[4 + c] = _mm512_shuffle_i32x4(b, e, 0x88);
    t[12 + c] = _mm512_shuffle_i32x4(b, e, 0xdd);
  }
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) r[i] = t[i];
}

// The bytes of 32 rows of W from n on; where W ends, its last row stands in.
template <typename Codes>
void fill_bytes(const PackedDotArgs& a, int64_t n, const Tile& tile) {
  const PackedMatrix& w = *a.w;
  const int64_t row_bytes = w.k * Codes::kBits / 8;
  for (int64_t half = 0; half < 2; ++half) {
    Codes codes[16];
    const uint8_t* p[16];
    for (int r = 0; r < 16; ++r) {
      const int64_t i = smaller_of(n + 16 * half + r, a.n_end - 1);
      codes[r].start(w, i);
      p[r] = w.codes + i * row_bytes;
    }
    for (int64_t j = 0; j < w.k; j += 64) {
      __m512i bytes[Codes::kPlanes][16];
      const int64_t at = j * Codes::kBits / 8;
#pragma GCC unroll 16
      for (int r = 0; r < 16; ++r) {
        __m512i part[Codes::kPlanes][1];
        codes[r].load(p[r] + at, row_bytes - at, part);
        for (int plane = 0; plane < Codes::kPlanes; ++plane) bytes[plane][r] = part[plane][0];
      }
      const int fours = w.k - j >= 64 ? 16 : 8;
      for (int plane = 0; plane < Codes::kPlanes; ++plane) {
        transpose16(bytes[plane]);
        uint8_t* to =
            tile.bytes + plane * w.k * kTileColumns + (j / 4 * kTileColumns + 16 * half) * 4;
#pragma GCC unroll 16
        for (int q = 0; q < 16; ++q) {
          if (q < fours) _mm512_store_si512(to + q * kTileColumns * 4, bytes[plane][q]);
        }
      }
    }
  }
}

void fill_scales(const PackedDotArgs& a, int64_t n, const Tile& tile) {
  const PackedMatrix& w = *a.w;
  const int64_t unit = a.x->unit, units = w.k / unit;
  for (int64_t r = 0; r < kTileColumns; ++r) {
    const int64_t i = smaller_of(n + r, a.n_end - 1);
    if (w.blocks_per_row == 1) {
      const float scale = row_scale(w, i), offset = row_offset(w, i);
      for (int64_t u = 0; u < units; ++u) {
        tile.scales[u * kTileColumns + r] = scale;
        tile.offset_scales[u * kTileColumns + r] = scale * offset;
      }
      continue;
    }
    const BlockRow blocks(w, i, unit);
    for (int64_t u = 0; u < units; u += 16) {
      __m512 scales, offsets;
      blocks.get(u, scales, offsets);
      alignas(64) float some[16], more[16];
      _mm512_store_ps(some, scales);
      _mm512_store_ps(more, _mm512_mul_ps(scales, offsets));
      for (int64_t l = 0; l < 16 && u + l < units; ++l) {
        tile.scales[(u + l) * kTileColumns + r] = some[l];
        tile.offset_scales[(u + l) * kTileColumns + r] = more[l];
      }
    }
  }
}

template <int64_t kUnit, bool kOffsets, int kPlanes, int kRows>
void multiply_tile(const PackedDotArgs& a, int64_t i, int64_t n, const Tile& tile) {
  const QuantizedRows& x = *a.x;
  const int64_t stride = x.padded / kUnit, units = x.k / kUnit;
  const int8_t* values = x.values + i * x.padded;
  const float* scales = x.scales + i * stride;
  const float* sums = x.sums + i * stride;
  const int32_t* starts = x.starts + i * stride;
  __m512 total[kRows][2];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) total[r][0] = total[r][1] = _mm512_setzero_ps();
  for (int64_t u = 0; u < units; ++u) {
    __m512i sum[kRows][2];
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r)
      sum[r][0] = sum[r][1] = _mm512_set1_epi32(starts[r * stride + u]);
#pragma GCC unroll 16
    for (int64_t at = 0; at < kUnit * kPlanes; at += 4) {
      const int64_t q = at % kUnit;
      const uint8_t* bytes =
          tile.bytes + (at / kUnit) * x.k * kTileColumns + (u * kUnit + q) * kTileColumns;
      const __m512i w0 = _mm512_load_si512(bytes), w1 = _mm512_load_si512(bytes + 64);
      if (at == kUnit) {
#pragma GCC unroll 8
        for (int r = 0; r < kRows; ++r) {
          sum[r][0] = _mm512_slli_epi32(sum[r][0], 8);
          sum[r][1] = _mm512_slli_epi32(sum[r][1], 8);
        }
      }
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        int32_t four;
        __builtin_memcpy(&four, values + r * x.padded + u * kUnit + q, sizeof(four));
        const __m512i activations = _mm512_set1_epi32(four);
        sum[r][0] = _mm512_dpbusd_epi32(sum[r][0], w0, activations);
        sum[r][1] = _mm512_dpbusd_epi32(sum[r][1], w1, activations);
      }
    }
    const __m512 s0 = _mm512_load_ps(tile.scales + u * kTileColumns);
    const __m512 s1 = _mm512_load_ps(tile.scales + u * kTileColumns + 16);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const __m512 scale = _mm512_set1_ps(scales[r * stride + u]);
      total[r][0] =
          _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum[r][0]), _mm512_mul_ps(s0, scale), total[r][0]);
      total[r][1] =
          _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum[r][1]), _mm512_mul_ps(s1, scale), total[r][1]);
    }
    if constexpr (kOffsets) {
      const __m512 o0 = _mm512_load_ps(tile.offset_scales + u * kTileColumns);
      const __m512 o1 = _mm512_load_ps(tile.offset_scales + u * kTileColumns + 16);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        const __m512 unit_sum = _mm512_set1_ps(sums[r * stride + u]);
        total[r][0] = _mm512_fnmadd_ps(o0, unit_sum, total[r][0]);
        total[r][1] = _mm512_fnmadd_ps(o1, unit_sum, total[r][1]);
      }
    }
  }
#pragma GCC unroll 2
  for (int half = 0; half < 2; ++half) {
    const int64_t left = smaller_of(a.n_end - n - 16 * half, 16);
    if (left <= 0) break;
    const __mmask16 mask = first_lanes(left);
    const __m512 bias = a.bias == nullptr ? _mm512_setzero_ps()
                                          : _mm512_maskz_loadu_ps(mask, a.bias + n + 16 * half);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      _mm512_mask_storeu_ps(a.y + (i + r) * a.y_stride + n + 16 * half, mask,
                            _mm512_add_ps(total[r][half], bias));
    }
  }
}

template <int64_t kUnit, bool kOffsets, int kPlanes>
void multiply_rows(const PackedDotArgs& a, int64_t n, const Tile& tile) {
  int64_t i = 0;
  for (; i + kTileRows <= a.x->m; i += kTileRows) {
    multiply_tile<kUnit, kOffsets, kPlanes, kTileRows>(a, i, n, tile);
  }
  switch (a.x->m - i) {
    case 5:
      return multiply_tile<kUnit, kOffsets, kPlanes, 5>(a, i, n, tile);
    case 4:
      return multiply_tile<kUnit, kOffsets, kPlanes, 4>(a, i, n, tile);
    case 3:
      return multiply_tile<kUnit, kOffsets, kPlanes, 3>(a, i, n, tile);
    case 2:
      return multiply_tile<kUnit, kOffsets, kPlanes, 2>(a, i, n, tile);
    case 1:
      return multiply_tile<kUnit, kOffsets, kPlanes, 1>(a, i, n, tile);
    default:
      return;
  }
}

template <typename Codes>
void many_rows(const PackedDotArgs& a) {
  const int64_t units = a.x->k / a.x->unit;
  char* scratch = static_cast<char*>(a.scratch);
  Tile tile{};
  tile.bytes = reinterpret_cast<uint8_t*>(scratch);
  tile.scales = reinterpret_cast<float*>(scratch + a.x->k * kTileColumns * Codes::kPlanes);
  tile.offset_scales = tile.scales + units * kTileColumns;
  [[maybe_unused]] const bool offsets = a.w->offset_type != OffsetType::None;
  for (int64_t n = a.n_begin; n < a.n_end; n += kTileColumns) {
    fill_bytes<Codes>(a, n, tile);
    fill_scales(a, n, tile);
    if constexpr (Codes::kPlanes == 2) {
      multiply_rows<32, false, 2>(a, n, tile);
    } else if (a.x->unit == 16) {
      offsets ? multiply_rows<16, true, 1>(a, n, tile) : multiply_rows<16, false, 1>(a, n, tile);
    } else {
      offsets ? multiply_rows<32, true, 1>(a, n, tile) : multiply_rows<32, false, 1>(a, n, tile);
    }
  }
}

}  // namespace
}  // namespace pippin::kernels
