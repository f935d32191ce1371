// Many rows of activations: 32 rows of W at a time become bytes, laid out so that a register holds
// four columns of 16 rows, and meet every row of x. Only for x86_avx512vnni.cpp.
//
//   tile [k / 4][32 rows of W][4 columns]: two registers for each four columns; of palettes
//        first the high bytes, then the low ones. Of Split the even columns of a unit come before
//        the odd ones, of Paired the first half before the one 64 columns behind (in turns). Affine
//        nibbles are transposed as they are, 64 bytes of 16 rows, and cut apart then
//   x    four columns of one row, repeated in every lane
//   y    6 rows x 32 columns in 12 registers of int32, scaled and added to 12 of fp32 every unit
#pragma once

#include "pippin/kernels/quantized_dot/avx512vnni_blocks.h"
#include "pippin/kernels/quantized_dot/avx512vnni_codes.h"

namespace pippin::kernels {
namespace {

constexpr int64_t kTileColumns = 32;
constexpr int kTileRows = 6;

struct Tile {
  uint8_t* bytes;        // [planes][k / 4][32][4]
  float* scales;         // [units][32]
  float* offset_scales;  // [units][32]: offset * scale
};

// Columns of W in a tile. Pairs come in 128: what is beyond W there meets activations of 0.
PIPPIN_VEC int64_t tile_columns(const QuantizedRows& x) {
  return x.order == ValueOrder::Paired ? (x.k + 127) / 128 * 128 : x.k;
}

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

// Where the codes of 16 rows of W from n on begin; where W ends, its last row stands in.
struct RowPointers {
  const uint8_t* at[16];
  int64_t bytes;  // of a row

  PIPPIN_VEC RowPointers(const QuantizedDotArgs& a, int64_t n, int bits)
      : bytes(a.w->k * bits / 8) {
    for (int r = 0; r < 16; ++r) at[r] = a.w->codes + smaller_of(n + r, a.n_end - 1) * bytes;
  }
};

// The same place in the next tile: rows that follow each other closely are no streams to the
// hardware.
PIPPIN_VEC void prefetch_next_tile(const uint8_t* p, int64_t row_bytes) {
  _mm_prefetch(p + kTileColumns * row_bytes, _MM_HINT_T1);
}

// Stores four columns of 16 rows as the tile's register `slot` of a half.
PIPPIN_VEC void store_slot(const Tile& tile, int64_t slot, int64_t half, __m512i bytes) {
  _mm512_store_si512(tile.bytes + (slot * kTileColumns + 16 * half) * 4, bytes);
}

void fill_nibbles(const QuantizedDotArgs& a, int64_t n, const Tile& tile) {
  const int64_t k = a.w->k, eights = a.x->unit / 8;
  const __m512i low = _mm512_set1_epi8(15), flip = _mm512_set1_epi8(a.w->is_signed ? 8 : 0);
  constexpr int kAndXor = 0x78;  // flip ^ (bytes & low)
  for (int64_t half = 0; half < 2; ++half) {
    const RowPointers rows(a, n + 16 * half, 4);
    for (int64_t j = 0; j < k; j += 128) {
      const __mmask64 mask = first_bytes((k - j) / 2);
      __m512i bytes[16];
#pragma GCC unroll 16
      for (int r = 0; r < 16; ++r) {
        prefetch_next_tile(rows.at[r] + j / 2, rows.bytes);
        bytes[r] = _mm512_maskz_loadu_epi8(mask, rows.at[r] + j / 2);
      }
      transpose16(bytes);
      const int64_t count = smaller_of((k - j) / 8, 16);
#pragma GCC unroll 16
      for (int q = 0; q < 16; ++q) {
        if (q >= count) break;
        const int64_t slot = j / 4 + q / eights * 2 * eights + q % eights;
        store_slot(tile, slot, half, _mm512_ternarylogic_epi32(flip, bytes[q], low, kAndXor));
        store_slot(tile, slot + eights, half,
                   _mm512_ternarylogic_epi32(flip, _mm512_srli_epi16(bytes[q], 4), low, kAndXor));
      }
    }
  }
}

// What is decoded before it is transposed.
template <typename Codes>
void fill_bytes(const QuantizedDotArgs& a, int64_t n, const Tile& tile) {
  constexpr int64_t kWidth = 64 * Codes::kParts;
  const int64_t columns = tile_columns(*a.x);
  const bool in_turns = a.x->order != ValueOrder::Natural;
  const QuantizedMatrix& w = *a.w;
  const int64_t eights = a.x->unit / 8;
  for (int64_t half = 0; half < 2; ++half) {
    const RowPointers rows(a, n + 16 * half, Codes::kBits);
    Codes codes[16];
    for (int r = 0; r < 16; ++r) codes[r].start(w, smaller_of(n + 16 * half + r, a.n_end - 1));
    for (int64_t j = 0; j < w.k; j += kWidth) {
      __m512i bytes[Codes::kPlanes][Codes::kParts][16];
      const int64_t at = j * Codes::kBits / 8;
#pragma GCC unroll 16
      for (int r = 0; r < 16; ++r) {
        __m512i loaded[Codes::kPlanes][Codes::kParts];
        prefetch_next_tile(rows.at[r] + at, rows.bytes);
        codes[r].load(rows.at[r] + at, rows.bytes - at, loaded);
        for (int plane = 0; plane < Codes::kPlanes; ++plane) {
          for (int part = 0; part < Codes::kParts; ++part) {
            bytes[plane][part][r] = loaded[plane][part];
          }
        }
      }
      const int64_t count = smaller_of((columns - j) / (4 * Codes::kParts), 16);
      for (int plane = 0; plane < Codes::kPlanes; ++plane) {
        for (int part = 0; part < Codes::kParts; ++part) {
          transpose16(bytes[plane][part]);
          const int64_t turn = Codes::kParts == 2 ? part : j / 64 % 2;
          for (int q = 0; q < count; ++q) {
            const int64_t slot =
                in_turns ? (j / 128 * 32) + q / eights * 2 * eights + q % eights + turn * eights
                         : j / 4 + q;
            store_slot(tile, plane * columns / 4 + slot, half, bytes[plane][part][q]);
          }
        }
      }
    }
  }
}

void fill_scales(const QuantizedDotArgs& a, int64_t n, const Tile& tile) {
  const QuantizedMatrix& w = *a.w;
  const int64_t unit = a.x->unit, units = tile_columns(*a.x) / unit;
  const bool has_offsets = w.offset_type != OffsetType::None;
  const Blocks blocks(w, unit);
  for (int64_t half = 0; half < 2; ++half) {
    float* const scales = tile.scales + 16 * half;
    float* const offset_scales = tile.offset_scales + 16 * half;
    alignas(64) float row_scales[16], row_offsets[16];
    int64_t base[16];
    for (int r = 0; r < 16; ++r) {
      const int64_t i = smaller_of(n + 16 * half + r, a.n_end - 1);
      base[r] = first_block(w, i);
      if (w.blocks_per_row == 1) row_scales[r] = row_scale(w, i), row_offsets[r] = row_offset(w, i);
    }
    for (int64_t u = 0; u < units; u += 16) {
      __m512i of_rows[16], offsets_of_rows[16];
      const BlockSpan span(blocks, u);
      for (int r = 0; r < 16 && w.blocks_per_row > 1; ++r) {
        const __m512 of_row = span.scales(base[r]);
        of_rows[r] = _mm512_castps_si512(of_row);
        if (!has_offsets) continue;
        offsets_of_rows[r] = _mm512_castps_si512(_mm512_mul_ps(of_row, span.offsets(base[r])));
      }
      if (w.blocks_per_row == 1) {
        for (int r = 0; r < 16; ++r) {
          of_rows[r] = _mm512_castps_si512(_mm512_load_ps(row_scales));
          offsets_of_rows[r] = _mm512_castps_si512(
              _mm512_mul_ps(_mm512_load_ps(row_scales), _mm512_load_ps(row_offsets)));
        }
      } else {
        transpose16(of_rows);
        if (has_offsets) transpose16(offsets_of_rows);
      }
      for (int64_t l = 0; l < 16 && u + l < units; ++l) {
        _mm512_store_si512(scales + (u + l) * kTileColumns, of_rows[l]);
        if (has_offsets) {
          _mm512_store_si512(offset_scales + (u + l) * kTileColumns, offsets_of_rows[l]);
        }
      }
    }
  }
}

template <int64_t kUnit, bool kSplit, int kPlanes, int kRows>
void multiply_tile(const QuantizedDotArgs& a, int64_t i, int64_t n, const Tile& tile) {
  const QuantizedRows& x = *a.x;
  const int64_t columns = tile_columns(x), stride = x.padded / kUnit, units = columns / kUnit;
  const int8_t* values = x.values + i * x.padded;
  const float* scales = x.scales + i * stride;
  const float* sums = x.sums + i * stride;
  const int32_t* starts = x.starts + i * stride;
  const bool has_offsets = a.w->offset_type != OffsetType::None;
  __m512 total[kRows][2];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) total[r][0] = total[r][1] = _mm512_setzero_ps();
  for (int64_t u = 0; u < units; ++u) {
    const int64_t first = kSplit ? u * kUnit / 128 * 128 + u * kUnit % 128 / 2 : u * kUnit;
    __m512i sum[kRows][2];
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r)
      sum[r][0] = sum[r][1] = _mm512_set1_epi32(starts[r * stride + u]);
#pragma GCC unroll 16
    for (int64_t at = 0; at < kUnit * kPlanes; at += 4) {
      const int64_t q = at % kUnit;
      const uint8_t* bytes =
          tile.bytes + (at / kUnit) * columns * kTileColumns + (u * kUnit + q) * kTileColumns;
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
        const int64_t place = kSplit ? first + q + (q < kUnit / 2 ? 0 : 64 - kUnit / 2) : first + q;
        __builtin_memcpy(&four, values + r * x.padded + place, sizeof(four));
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
    if (has_offsets) {
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

template <int64_t kUnit, bool kSplit, int kPlanes>
void multiply_rows(const QuantizedDotArgs& a, int64_t n, const Tile& tile) {
  for_row_tiles<kTileRows>(
      a.x->m, [&](auto rows, int64_t i) __attribute__((always_inline)) {
        multiply_tile<kUnit, kSplit, kPlanes, rows.value>(a, i, n, tile);
      });
}

template <typename Codes>
void many_rows(const QuantizedDotArgs& a) {
  const int64_t columns = tile_columns(*a.x), units = columns / a.x->unit;
  char* scratch = static_cast<char*>(a.scratch);
  Tile tile{};
  tile.bytes = reinterpret_cast<uint8_t*>(scratch);
  tile.scales = reinterpret_cast<float*>(scratch + columns * kTileColumns * Codes::kPlanes);
  tile.offset_scales = tile.scales + units * kTileColumns;
  constexpr bool kSplit = Codes::kParts == 2;
  for (int64_t n = a.n_begin; n < a.n_end; n += kTileColumns) {
    if constexpr (kSplit && Codes::kBlocks) {
      fill_nibbles(a, n, tile);
    } else {
      fill_bytes<typename Codes::Halves>(a, n, tile);
    }
    fill_scales(a, n, tile);
    if constexpr (Codes::kPlanes == 2) {
      multiply_rows<32, kSplit, 2>(a, n, tile);
    } else if (a.x->unit == 16) {
      multiply_rows<16, kSplit, 1>(a, n, tile);
    } else {
      multiply_rows<32, kSplit, 1>(a, n, tile);
    }
  }
}

}  // namespace
}  // namespace pippin::kernels
