// The kernels of packed.h as plain loops that compilers vectorize for the instruction set of the
// file that includes this: rows of W are decoded to 16 bits in scratch memory and multiplied from
// there.
#pragma once

#include "pippin/kernels/packed/args.h"

namespace pippin::kernels {
namespace {

inline float half_value(uint16_t bits) {
  const uint32_t sign = uint32_t{bits & 0x8000u} << 16;
  const uint32_t exponent = (bits >> 10) & 0x1f, fraction = bits & 0x3ff;
  float value;
  uint32_t word;
  if (exponent == 0) {
    value = static_cast<float>(fraction) * 0x1p-24f;
    __builtin_memcpy(&word, &value, sizeof(word));
  } else {
    word =
        exponent == 0x1f ? 0x7f800000u | fraction << 13 : (exponent + 112) << 23 | fraction << 13;
  }
  word |= sign;
  __builtin_memcpy(&value, &word, sizeof(value));
  return value;
}

inline float stored_value(const void* values, WeightType type, int64_t index) {
  if (type == WeightType::F32) return static_cast<const float*>(values)[index];
  const uint16_t bits = static_cast<const uint16_t*>(values)[index];
  if (type == WeightType::F16) return half_value(bits);
  const uint32_t word = uint32_t{bits} << 16;
  float value;
  __builtin_memcpy(&value, &word, sizeof(value));
  return value;
}

inline int code_of(const uint8_t* codes, int64_t index, int bits) {
  const int64_t bit = index * bits;
  int window = codes[bit / 8];
  if (bit % 8 + bits > 8) window |= codes[bit / 8 + 1] << 8;
  return window >> (bit % 8) & ((1 << bits) - 1);
}

inline float block_offset(const PackedMatrix& w, int64_t block) {
  const auto* bytes = static_cast<const uint8_t*>(w.offsets);
  switch (w.offset_type) {
    case OffsetType::F32:
      return stored_value(w.offsets, WeightType::F32, block);
    case OffsetType::F16:
      return stored_value(w.offsets, WeightType::F16, block);
    case OffsetType::I8:
      return static_cast<float>((bytes[block] ^ 128) - 128);
    case OffsetType::U8:
      return bytes[block];
    case OffsetType::I4:
      return static_cast<float>((code_of(bytes, block, 4) ^ 8) - 8);
    case OffsetType::U4:
      return static_cast<float>(code_of(bytes, block, 4));
    default:
      return 0;
  }
}

// `count` codes from the element `at` of the stream on.
inline void decode(const PackedMatrix& w, int64_t at, int64_t count, int16_t* to) {
  const int half = w.is_signed ? 1 << (w.bits - 1) : 0;
  if (w.bits == 8) {
    const uint8_t* p = w.codes + at;
    for (int64_t j = 0; j < count; ++j) to[j] = static_cast<int16_t>((p[j] ^ half) - half);
  } else if (w.bits == 4 && at % 2 == 0) {
    const uint8_t* p = w.codes + at / 2;
    for (int64_t j = 0; j < count / 2; ++j) {
      to[2 * j] = static_cast<int16_t>(((p[j] & 15) ^ half) - half);
      to[2 * j + 1] = static_cast<int16_t>((p[j] >> 4 ^ half) - half);
    }
    if (count % 2 != 0) {
      to[count - 1] = static_cast<int16_t>(((p[count / 2] & 15) ^ half) - half);
    }
  } else {
    for (int64_t j = 0; j < count; ++j) {
      to[j] = static_cast<int16_t>((code_of(w.codes, at + j, w.bits) ^ half) - half);
    }
  }
}

void expand(const PackedMatrix& w, int64_t i, int64_t begin, int64_t end, float* y) noexcept {
  constexpr int64_t kPiece = 256;
  int16_t codes[kPiece];
  float table[256];
  const int64_t base = w.first_block + i / w.block_rows * w.blocks_per_row;
  for (int64_t j = begin; j < end;) {
    const int64_t block = base + j / w.block_columns;
    int64_t stop = (j / w.block_columns + 1) * w.block_columns;
    if (stop > end) stop = end;
    const float scale = w.scales != nullptr ? stored_value(w.scales, w.scale_type, block) : 0;
    const float offset = w.scales != nullptr ? block_offset(w, block) : 0;
    if (w.scales == nullptr) {
      for (int64_t e = 0; e < int64_t{1} << w.bits; ++e) {
        table[e] = stored_value(w.palettes, w.palette_type, (block << w.bits) + e);
      }
    }
    while (j < stop) {
      const int64_t count = stop - j < kPiece ? stop - j : kPiece;
      decode(w, w.first + i * w.k + j, count, codes);
      if (w.scales != nullptr) {
        for (int64_t c = 0; c < count; ++c) y[c] = (static_cast<float>(codes[c]) - offset) * scale;
      } else {
        for (int64_t c = 0; c < count; ++c) y[c] = table[codes[c]];
      }
      y += count;
      j += count;
    }
  }
}

// To the nearest integer, ties to even, for magnitudes below 2^22.
inline int32_t nearest(float x) {
  constexpr float kMagic = 12582912.0F;  // 1.5 * 2^23: the fraction has no bits left
  float shifted = x + kMagic;
  int32_t bits;
  __builtin_memcpy(&bits, &shifted, sizeof(bits));
  return bits - 0x4b400000;
}

// In natural order with a start for each unit: these kernels have no few rows.
template <int64_t kUnit>
void quantize_units(const float* x, int64_t x_stride, int64_t begin, int64_t end,
                    const QuantizedRows& to) {
  const int64_t units = to.padded / kUnit;
  for (int64_t i = begin; i < end; ++i) {
    int8_t* values = to.values + i * to.padded;
    for (int64_t u = 0; u < units; ++u) {
      float* scale = to.scales + i * units + u;
      float* sum = to.sums + i * units + u;
      int8_t* v = values + u * kUnit;
      if (u * kUnit >= to.k) {
        for (int64_t j = 0; j < kUnit; ++j) v[j] = 0;
        *scale = *sum = 0;
        to.starts[i * units + u] = 0;
        continue;
      }
      const float* row = x + i * x_stride + u * kUnit;
      uint32_t largest = 0;
      for (int64_t j = 0; j < kUnit; ++j) {
        uint32_t bits;
        __builtin_memcpy(&bits, row + j, sizeof(bits));
        bits &= 0x7fffffffu;
        largest = bits > largest ? bits : largest;
      }
      const bool finite = largest < 0x7f800000u;
      float most;
      __builtin_memcpy(&most, &largest, sizeof(most));
      const float inverse = finite && most >= 1e-36F ? 127.0F / most : 0.0F;
      int32_t total = 0;
      if (inverse != 0) {
        for (int64_t j = 0; j < kUnit; ++j) {
          const int32_t value = nearest(row[j] * inverse);
          v[j] = static_cast<int8_t>(value);
          total += value;
        }
      } else {
        for (int64_t j = 0; j < kUnit; ++j) v[j] = 0;
      }
      *scale = finite ? most / 127.0F : __builtin_nanf("");
      *sum = *scale * static_cast<float>(total);
      to.starts[i * units + u] = -to.center * total;
    }
  }
}

void quantize(const float* x, int64_t x_stride, int64_t begin, int64_t end,
              const QuantizedRows& to) noexcept {
  if (to.unit == 16) return quantize_units<16>(x, x_stride, begin, end, to);
  quantize_units<32>(x, x_stride, begin, end, to);
}

template <int64_t kUnit>
float multiply_row(const PackedMatrix& w, const QuantizedRows& x, int64_t i, int64_t n,
                   const int16_t* codes) {
  const int64_t units = x.padded / kUnit;
  const int64_t base = n / w.block_rows * w.blocks_per_row;
  const int8_t* values = x.values + i * x.padded;
  float total = 0;
  for (int64_t u = 0; u * kUnit < x.k; ++u) {
    int32_t sum = 0;
    for (int64_t j = 0; j < kUnit; ++j) {
      sum += int32_t{codes[u * kUnit + j]} * int32_t{values[u * kUnit + j]};
    }
    const int64_t block = base + u * kUnit / w.block_columns;
    const float scale =
        w.scales != nullptr ? stored_value(w.scales, w.scale_type, block) : w.byte_scales[block];
    float product = x.scales[i * units + u] * static_cast<float>(sum);
    if (w.offset_type != OffsetType::None) {
      product -= block_offset(w, block) * x.sums[i * units + u];
    }
    total += scale * product;
  }
  return total;
}

void dot(const PackedDotArgs& a) noexcept {
  const PackedMatrix& w = *a.w;
  const QuantizedRows& x = *a.x;
  int16_t* codes = static_cast<int16_t*>(a.scratch);
  for (int64_t n = a.n_begin; n < a.n_end; ++n) {
    decode(w, n * w.k, w.k, codes);
    if (w.scales == nullptr) {
      const int64_t stride = w.bits <= 4 ? 16 : w.bits <= 6 ? 64 : 256;
      const uint8_t* palette = w.byte_palettes + n / w.block_rows * 2 * stride;
      int16_t values[256];
      for (int64_t e = 0; e < int64_t{1} << w.bits; ++e) {
        values[e] = static_cast<int16_t>(256 * palette[e] + palette[stride + e] - 32768);
      }
      for (int64_t j = 0; j < w.k; ++j) codes[j] = values[codes[j]];
    }
    for (int64_t i = 0; i < x.m; ++i) {
      const float y =
          x.unit == 16 ? multiply_row<16>(w, x, i, n, codes) : multiply_row<32>(w, x, i, n, codes);
      a.y[i * a.y_stride + n] = a.bias != nullptr ? y + a.bias[n] : y;
    }
  }
}

}  // namespace
}  // namespace pippin::kernels
