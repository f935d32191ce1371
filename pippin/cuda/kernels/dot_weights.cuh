// Eight neighbouring columns of a row of a matrix, as numbers.
#pragma once

#include "pippin/cuda/kernels/blocks.cuh"
#include "pippin/cuda/kernels/dot_args.h"

namespace pippin::cuda {

struct Eight {
  float v[8];
};

// Of x.
DEVICE Eight load_eight(const float* row, int group, int k, bool is_aligned) {
  Eight e;
  const float* p = row + group * 8;
  if (is_aligned) {
    const float4 a = reinterpret_cast<const float4*>(p)[0];
    const float4 b = reinterpret_cast<const float4*>(p)[1];
    e.v[0] = a.x, e.v[1] = a.y, e.v[2] = a.z, e.v[3] = a.w;
    e.v[4] = b.x, e.v[5] = b.y, e.v[6] = b.z, e.v[7] = b.w;
    return e;
  }
  UNROLL
  for (int i = 0; i < 8; ++i) e.v[i] = group * 8 + i < k ? p[i] : 0.0f;
  return e;
}

// Bits of eight columns: loaded first, used later.
struct RawEight {
  uint4 a, b;
  float scale, shift;
};

DEVICE float number_at(const void* numbers, int64_t at, bool is_float) {
  return is_float ? static_cast<const float*>(numbers)[at]
                  : half_to_float(static_cast<const uint16_t*>(numbers)[at]);
}

// Two columns of an E4M7 matrix as fp16: their low bytes and nibbles in the halves of a word.
DEVICE uint32_t e4m7_halves(uint32_t low, uint32_t high) {
  return low << 3 | (high & 0x00070007u) << 11 | (high & 0x00080008u) << 12;
}
// The columns of a group, in order.
DEVICE uint4 e4m7_group(const uint2& low, uint32_t high) {
  constexpr uint32_t kBytes = 0x00ff00ffu, kNibbles = 0x000f000fu;
  return make_uint4(e4m7_halves(low.x & kBytes, high & kNibbles),
                    e4m7_halves(low.x >> 8 & kBytes, high >> 4 & kNibbles),
                    e4m7_halves(low.y & kBytes, high >> 8 & kNibbles),
                    e4m7_halves(low.y >> 8 & kBytes, high >> 12 & kNibbles));
}

template <MatrixForm F>
struct WeightRow {
  static constexpr bool kIsPalette = F == MatrixForm::Palette4 || F == MatrixForm::Palette8;
  static constexpr bool kHasNumbers = F == MatrixForm::Int4 || F == MatrixForm::Int8;

  const unsigned char* row;
  const void* scales;
  const void* shifts;
  int64_t first_number;
  int k;
  bool is_aligned, is_computed;  // of F32, F16, BF16

  // Row j; `number_row` counts those of all batches.
  DEVICE WeightRow(const unsigned char* rows, int64_t row_bytes, const void* all_scales,
                   const void* all_shifts, const MatrixNumbers& numbers, int64_t j,
                   int64_t number_row, int columns, bool aligned, bool computed)
      : row(rows + j * row_bytes),
        scales(all_scales),
        shifts(numbers.has_shifts ? all_shifts : nullptr),
        first_number(number_row * numbers.per_row),
        k(columns),
        is_aligned(aligned),
        is_computed(computed) {
    if constexpr (kIsPalette) {
      constexpr int kEntries = F == MatrixForm::Palette4 ? 16 : 256;
      scales = static_cast<const float*>(all_scales) + number_row / numbers.table_rows * kEntries;
    }
  }

  // Results of earlier kernels may be in other caches than constants.
  DEVICE uint4 load_sixteen(const uint4* p) const { return is_computed ? *p : load_stream(p); }

  DEVICE RawEight load(int group, const MatrixNumbers& numbers) const {
    RawEight raw;
    if constexpr (F == MatrixForm::F32) {
      const auto* p = reinterpret_cast<const uint32_t*>(row) + group * 8;
      if (is_aligned) {
        raw.a = load_sixteen(reinterpret_cast<const uint4*>(p));
        raw.b = load_sixteen(reinterpret_cast<const uint4*>(p) + 1);
      } else {
        uint32_t w[8];
        UNROLL
        for (int i = 0; i < 8; ++i) w[i] = group * 8 + i < k ? p[i] : 0;
        raw.a = make_uint4(w[0], w[1], w[2], w[3]);
        raw.b = make_uint4(w[4], w[5], w[6], w[7]);
      }
    } else if constexpr (F == MatrixForm::F16 || F == MatrixForm::BF16) {
      const auto* p = reinterpret_cast<const uint16_t*>(row) + group * 8;
      if (is_aligned) {
        raw.a = load_sixteen(reinterpret_cast<const uint4*>(p));
      } else {
        uint32_t w[8];
        UNROLL
        for (int i = 0; i < 8; ++i) w[i] = group * 8 + i < k ? p[i] : 0;
        raw.a =
            make_uint4(w[0] | w[1] << 16, w[2] | w[3] << 16, w[4] | w[5] << 16, w[6] | w[7] << 16);
      }
    } else if constexpr (F == MatrixForm::Int4 || F == MatrixForm::Palette4) {
      raw.a.x = load_stream(reinterpret_cast<const uint32_t*>(row) + group);
    } else if constexpr (F == MatrixForm::Int8) {
      const int units = (k + 31) / 32;
      raw.a.x = load_stream(reinterpret_cast<const uint32_t*>(row) + group);
      raw.a.y = load_stream(reinterpret_cast<const uint32_t*>(row) + units * 4 + group);
    } else if constexpr (F == MatrixForm::E4M7) {
      const int units = (k + 31) / 32;
      const uint2 low = load_stream(reinterpret_cast<const uint2*>(row) + group);
      raw.a.x = low.x, raw.a.y = low.y;
      raw.a.z = load_stream(reinterpret_cast<const uint32_t*>(row) + units * 8 + group);
    } else {
      const uint2 codes = load_stream(reinterpret_cast<const uint2*>(row) + group);
      raw.a.x = codes.x, raw.a.y = codes.y;
    }
    if constexpr (kHasNumbers) {
      const int64_t at = first_number + (group >> numbers.group_shift);
      raw.scale = number_at(scales, at, numbers.is_float);
      raw.shift = 0;
      if (shifts != nullptr) {
        raw.shift = number_at(shifts, at, numbers.is_float);
        if (!numbers.is_float) raw.shift *= raw.scale;
      }
    }
    return raw;
  }

  // Of E4M7: without the row's scale.
  DEVICE Eight values(const RawEight& raw) const {
    Eight e;
    if constexpr (F == MatrixForm::F32) {
      const uint32_t w[8] = {raw.a.x, raw.a.y, raw.a.z, raw.a.w,
                             raw.b.x, raw.b.y, raw.b.z, raw.b.w};
      UNROLL
      for (int i = 0; i < 8; ++i) e.v[i] = bits_to_float(w[i]);
    } else if constexpr (F == MatrixForm::F16 || F == MatrixForm::BF16 || F == MatrixForm::E4M7) {
      uint4 halves = raw.a;
      if constexpr (F == MatrixForm::E4M7) halves = e4m7_group({raw.a.x, raw.a.y}, raw.a.z);
      const uint32_t w[4] = {halves.x, halves.y, halves.z, halves.w};
      UNROLL
      for (int i = 0; i < 4; ++i) {
        const auto low = static_cast<uint16_t>(w[i]), high = static_cast<uint16_t>(w[i] >> 16);
        e.v[2 * i] = F == MatrixForm::BF16 ? bfloat_to_float(low) : half_to_float(low);
        e.v[2 * i + 1] = F == MatrixForm::BF16 ? bfloat_to_float(high) : half_to_float(high);
      }
    } else if constexpr (kIsPalette) {
      const auto* table = static_cast<const float*>(scales);
      UNROLL
      for (int i = 0; i < 8; ++i) {
        const uint32_t code = F == MatrixForm::Palette4
                                  ? raw.a.x >> (4 * i) & 15
                                  : (i < 4 ? raw.a.x : raw.a.y) >> (i % 4 * 8) & 255;
        e.v[i] = table[code];
      }
    } else {
      UNROLL
      for (int i = 0; i < 8; ++i) {
        int code;
        if constexpr (F == MatrixForm::Int4) {
          code = static_cast<int>(raw.a.x << (28 - 4 * i)) >> 28;
        } else {
          code = static_cast<int>((i % 2 == 0 ? raw.a.x : raw.a.y) << (24 - i / 2 * 8)) >> 24;
        }
        e.v[i] = fmaf(static_cast<float>(code), raw.scale, raw.shift);
      }
    }
    return e;
  }
};

}  // namespace pippin::cuda
