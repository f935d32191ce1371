// Rows of W as fp32, and activations in 8 bits. Only for x86_avx512vnni.cpp.
#pragma once

#include "pippin/kernels/quantized_dot/avx512vnni_blocks.h"
#include "pippin/kernels/quantized_dot/avx512vnni_codes.h"

namespace pippin::kernels {
namespace {

PIPPIN_VEC __m512i codes64(int bits, const uint8_t* p, int64_t left) {
  switch (bits) {
    case 1:
      return codes64<1>(p, left);
    case 2:
      return codes64<2>(p, left);
    case 3:
      return codes64<3>(p, left);
    case 4:
      return codes64<4>(p, left);
    case 6:
      return codes64<6>(p, left);
    default:
      return codes64<8>(p, left);
  }
}

// 64 codes from the element `at` of the stream on, which may begin within a byte.
PIPPIN_VEC __m512i codes_at(const QuantizedMatrix& w, int64_t at, int64_t count) {
  const int64_t bit = at * w.bits;
  const uint8_t* p = w.codes + bit / 8;
  if (bit % 8 == 0) return codes64(w.bits, p, (count * w.bits + 7) / 8);
  Bytes64 codes{};
  for (int64_t i = 0; i < count; ++i) {
    const int64_t from = bit % 8 + i * w.bits;
    int window = p[from / 8];
    if (from % 8 + w.bits > 8) window |= p[from / 8 + 1] << 8;
    codes.at[i] = static_cast<uint8_t>(window >> (from % 8) & ((1 << w.bits) - 1));
  }
  return load_table(codes);
}

PIPPIN_VEC __m512i codes16(__m512i codes, int quarter) {
  alignas(64) uint8_t bytes[64];
  _mm512_store_si512(bytes, codes);
  return _mm512_cvtepu8_epi32(
      _mm_load_si128(reinterpret_cast<const __m128i*>(bytes + 16 * quarter)));
}

void expand_affine(const QuantizedMatrix& w, int64_t i, int64_t begin, int64_t end, float* y) {
  const int64_t row = w.first + i * w.k;
  const int64_t base = first_block(w, i);
  const int half = w.is_signed ? 1 << (w.bits - 1) : 0;
  for (int64_t j = begin; j < end;) {
    const int64_t block = j / w.block_columns;
    const int64_t stop = smaller_of((block + 1) * w.block_columns, end);
    const __m512 scale = _mm512_broadcastss_ps(
        _mm512_castps512_ps128(load_stored(w.scales, w.scale_type, base + block, 1)));
    const __m512 offset =
        _mm512_broadcastss_ps(_mm512_castps512_ps128(load_offsets(w, base + block, 1)));
    const __m512i flip = _mm512_set1_epi32(half);
    while (j < stop) {
      const int64_t count = smaller_of(64, stop - j);
      const __m512i codes = codes_at(w, row + j, count);
#pragma GCC unroll 4
      for (int q = 0; q < 4; ++q) {
        const int64_t here = count - 16 * q;
        if (here <= 0) break;
        const __m512i code = _mm512_sub_epi32(_mm512_xor_si512(codes16(codes, q), flip), flip);
        const __m512 value = _mm512_mul_ps(_mm512_sub_ps(_mm512_cvtepi32_ps(code), offset), scale);
        _mm512_mask_storeu_ps(y + 16 * q, first_lanes(smaller_of(here, 16)), value);
      }
      y += count;
      j += count;
    }
  }
}

void expand_palette(const QuantizedMatrix& w, int64_t i, int64_t begin, int64_t end, float* y) {
  const int64_t row = w.first + i * w.k, entries = int64_t{1} << w.bits;
  const int64_t base = first_block(w, i);
  alignas(64) float table[256] = {};
  for (int64_t j = begin; j < end;) {
    const int64_t block = j / w.block_columns;
    const int64_t stop = smaller_of((block + 1) * w.block_columns, end);
    for (int64_t e = 0; e < entries; e += 16) {
      _mm512_store_ps(table + e,
                      load_stored(w.palettes, w.palette_type, ((base + block) << w.bits) + e,
                                  smaller_of(16, entries - e)));
    }
    const __m512 t0 = _mm512_load_ps(table), t1 = _mm512_load_ps(table + 16),
                 t2 = _mm512_load_ps(table + 32), t3 = _mm512_load_ps(table + 48);
    while (j < stop) {
      const int64_t count = smaller_of(64, stop - j);
      const __m512i codes = codes_at(w, row + j, count);
#pragma GCC unroll 4
      for (int q = 0; q < 4; ++q) {
        const int64_t here = count - 16 * q;
        if (here <= 0) break;
        const __m512i code = codes16(codes, q);
        __m512 value;
        if (w.bits <= 4) {
          value = _mm512_permutexvar_ps(code, t0);
        } else if (w.bits == 6) {
          const __mmask16 high = _mm512_test_epi32_mask(code, _mm512_set1_epi32(32));
          value = _mm512_mask_blend_ps(high, _mm512_permutex2var_ps(t0, code, t1),
                                       _mm512_permutex2var_ps(t2, code, t3));
        } else {
          value = _mm512_i32gather_ps(code, table, 4);
        }
        _mm512_mask_storeu_ps(y + 16 * q, first_lanes(smaller_of(here, 16)), value);
      }
      y += count;
      j += count;
    }
  }
}

void expand(const QuantizedMatrix& w, int64_t i, int64_t begin, int64_t end, float* y) noexcept {
  if (w.scales != nullptr) {
    expand_affine(w, i, begin, end, y);
  } else {
    expand_palette(w, i, begin, end, y);
  }
}

PIPPIN_VEC __m128i load_four(const int32_t* p) {
  return _mm_load_si128(reinterpret_cast<const __m128i*>(p));
}
PIPPIN_VEC int32_t add_lanes(__m128i x) {
  const __m128i pair = _mm_add_epi32(x, _mm_shuffle_epi32(x, 0x4e));
  return _mm_cvtsi128_si32(_mm_add_epi32(pair, _mm_shuffle_epi32(pair, 0xb1)));
}

// 128 columns at a time, as eight registers of 16; a unit of 32 is two of them.
void quantize_row(const float* x, const QuantizedRows& to, int64_t i) {
  int8_t* values = to.values + i * to.padded;
  float* scales = to.scales + i * (to.padded / to.unit);
  float* sums = to.sums + i * (to.padded / to.unit);
  int32_t* starts = to.starts + i * (to.padded / to.group);
  const __m512i magnitude = _mm512_set1_epi32(0x7fffffff), ones = _mm512_set1_epi8(1);
  const __m512i center = _mm512_set1_epi32(-to.center);
  const bool paired = to.order == ValueOrder::Paired, alone = to.unit == 16;
  const int step = paired ? 1 : 2, behind = paired ? 4 : 1;  // from pair to pair, and within one
  for (int64_t j = 0; j < to.padded; j += 128) {
    alignas(64) int8_t natural[128];
    float unit_scale[8];
#pragma GCC unroll 4
    for (int pair = 0; pair < 4; ++pair) {
      const int place[2] = {step * pair, step * pair + behind};
      __m512 part[2];
      __m512i largest[2];
#pragma GCC unroll 2
      for (int h = 0; h < 2; ++h) {
        int64_t left = to.k - j - 16 * place[h];
        left = left < 0 ? 0 : left < 16 ? left : 16;
        part[h] = _mm512_maskz_loadu_ps(first_lanes(left), x + j + 16 * place[h]);
        largest[h] = _mm512_and_si512(_mm512_castps_si512(part[h]), magnitude);
      }
      if (!alone) largest[0] = largest[1] = _mm512_max_epu32(largest[0], largest[1]);
      for (int h = 0; h < 2; ++h) {
        const uint32_t bits = _mm512_reduce_max_epu32(largest[h]);
        const bool finite = bits < 0x7f800000u;
        float most;
        __builtin_memcpy(&most, &bits, sizeof(most));
        // Below this the inverse would overflow: the values count as 0.
        const float inverse = finite && most >= 1e-36F ? 127.0F / most : 0.0F;
        unit_scale[2 * pair + h] = finite ? most / 127.0F : __builtin_nanf("");
        // A NaN times 0 would not convert to 0.
        const __m512 clean =
            _mm512_maskz_mov_ps(finite ? __mmask16(0xffff) : __mmask16(0), part[h]);
        const __m512i rounded = _mm512_cvtps_epi32(_mm512_mul_ps(clean, _mm512_set1_ps(inverse)));
        _mm_store_si128(reinterpret_cast<__m128i*>(natural + 16 * place[h]),
                        _mm512_cvtepi32_epi8(rounded));
      }
    }
    const __m512i low = _mm512_load_si512(natural), high = _mm512_load_si512(natural + 64);
    // Sums of four neighbours.
    const __m512i low_sums = _mm512_dpbusd_epi32(_mm512_setzero_si512(), ones, low);
    const __m512i high_sums = _mm512_dpbusd_epi32(_mm512_setzero_si512(), ones, high);
    alignas(64) int32_t fours[32];
    _mm512_store_si512(fours, low_sums);
    _mm512_store_si512(fours + 16, high_sums);
    if (to.order == ValueOrder::Split) {
      const __m512i even = _mm512_permutex2var_epi8(low, load_table(kEvenIndex), high);
      const __m512i odd =
          _mm512_permutex2var_epi8(low, _mm512_add_epi8(load_table(kEvenIndex), ones), high);
      _mm512_storeu_si512(values + j, even);
      _mm512_storeu_si512(values + j + 64, odd);
      if (to.group == 8) {
        const __m512i eights =
            _mm512_dpbusd_epi32(_mm512_dpbusd_epi32(_mm512_setzero_si512(), ones, even), ones, odd);
        _mm512_storeu_si512(starts + j / 8, _mm512_mullo_epi32(eights, center));
      }
    } else {
      _mm512_storeu_si512(values + j, low);
      _mm512_storeu_si512(values + j + 64, high);
      if (to.group == 8) {
        const __m512i eights = _mm512_add_epi32(low_sums, high_sums);
        _mm512_storeu_si512(starts + j / 8, _mm512_mullo_epi32(eights, center));
      } else if (to.group == 4) {
        _mm512_storeu_si512(starts + j / 4, _mm512_mullo_epi32(low_sums, center));
        _mm512_storeu_si512(starts + j / 4 + 16, _mm512_mullo_epi32(high_sums, center));
      }
    }
    for (int h = 0; h < 8; h += alone ? 1 : 2) {
      const int first = step * (h / 2) + h % 2 * behind;
      __m128i lanes = load_four(fours + 4 * first);
      if (!alone) lanes = _mm_add_epi32(lanes, load_four(fours + 4 * (first + behind)));
      const int32_t sum = add_lanes(lanes);
      const int64_t unit = j / to.unit + (alone ? h : h / 2);
      scales[unit] = unit_scale[h];
      sums[unit] = unit_scale[h] * static_cast<float>(sum);
      if (to.group == to.unit) starts[unit] = -to.center * sum;
    }
  }
}

void quantize(const float* x, int64_t x_stride, int64_t begin, int64_t end,
              const QuantizedRows& to) noexcept {
  for (int64_t i = begin; i < end; ++i) quantize_row(x + i * x_stride, to, i);
}

}  // namespace
}  // namespace pippin::kernels
