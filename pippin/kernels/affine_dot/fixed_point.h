// 4-bit codes times rows in fixed point (args.h), by instructions that multiply bytes. An ISA file
// includes vectors.h through its words and defines, before this,
//   W low_nibbles(W), W high_nibbles(W)              codes as bytes
//   I dot_bytes(I sum, W codes, const int8_t* x)     sum and four products for each lane
//
// A lane's sum over eight columns is exact: 8 * 15 * 2^22 fits int32.
#pragma once

#include "pippin/kernels/affine_dot/vectors.h"

namespace pippin::kernels {
namespace {

constexpr int64_t kFixedBlock = 8 * kLanes;        // columns
constexpr int64_t kDigitVector = kFixedBlock / 2;  // bytes of even or odd columns
constexpr int64_t kDigitBlock = 6 * kDigitVector;  // bytes of a block
constexpr int kDigits = 3;
constexpr uint32_t kSmallestExponent = 64;  // biased exponent: 2^-63
constexpr uint32_t kUnitBits = 21;          // bits of a group's largest number

PIPPIN_VEC float from_bits(uint32_t bits) {
  float value;
  __builtin_memcpy(&value, &bits, sizeof(value));
  return value;
}

// Reorders a block's digits from column order to the order of codes.
PIPPIN_VEC void put_block(const uint8_t (&digits)[kDigits][kFixedBlock], int8_t* to) {
  for (int d = 0; d < kDigits; ++d) {
    for (int64_t i = 0; i < kDigitVector; ++i) {
      to[2 * d * kDigitVector + i] = static_cast<int8_t>(digits[d][2 * i]);
      to[(2 * d + 1) * kDigitVector + i] = static_cast<int8_t>(digits[d][2 * i + 1]);
    }
  }
}

bool fix_row(const float* x, int64_t group, const AffineRows& form, int64_t i) {
  int8_t* to = form.digits + i * form.padded * kDigits;
  float* units = form.units + i * form.groups;
  float* sums = form.sums + i * form.groups;
  alignas(64) uint8_t digits[kDigits][kFixedBlock];
  int64_t at = 0;  // position in the block
  for (int64_t g = 0; g < form.groups; ++g, x += group) {
    F top = set(0), total = set(0);
    for (int64_t c = 0; c < group; c += kLanes) {
      const F value = load(x + c);
      top = max(top, floats(bits(value) & set_i(0x7fffffff)));
      total = total + value;
    }
    sums[g] = sum(total);
    const float largest = max_lane(top);
    uint32_t exponent;
    __builtin_memcpy(&exponent, &largest, sizeof(exponent));
    exponent >>= 23;
    // The sum is not finite if one of the numbers is not.
    if (!(sums[g] - sums[g] == 0) || (largest > 0 && exponent < kSmallestExponent)) return false;
    units[g] = largest > 0 ? from_bits((exponent - kUnitBits) << 23) : 0;
    const F per_unit = set(largest > 0 ? from_bits((254 + kUnitBits - exponent) << 23) : 0);
    for (int64_t c = 0; c < group; c += kLanes) {
      // A signed byte is the unsigned byte of the number plus 128.
      const I bias = set_i(0x808080);
      const I whole = (to_int(load(x + c) * per_unit) + bias) ^ bias;
      store_low_bytes(digits[0] + at, shift_right<16>(whole));
      store_low_bytes(digits[1] + at, shift_right<8>(whole));
      store_low_bytes(digits[2] + at, whole);
      at += kLanes;
      if (at < kFixedBlock) continue;
      put_block(digits, to);
      to += kDigitBlock;
      at = 0;
    }
  }
  if (at == 0) return true;
  for (auto& digit : digits) {
    for (int64_t c = at; c < kFixedBlock; ++c) digit[c] = 0;
  }
  put_block(digits, to);
  return true;
}

bool fix(const AffineMatrix& w, const float* x, int64_t x_stride, AffineRows& form) noexcept {
  for (int64_t i = 0; i < form.m; ++i) {
    if (!fix_row(x + i * x_stride, w.group, form, i)) return false;
  }
  return true;
}

struct FixedDot {
  // The rows j, j + stride, ... of W, kColumns at a time.
  template <int kRows, int kColumns>
  static PIPPIN_VEC void rows(const AffineDotArgs& a, int64_t j, int64_t stride) {
    const AffineMatrix& w = *a.w;
    const AffineRows& x = *a.x;
    RowStart<kRows> start[kColumns];
    const uint8_t* codes[kColumns];
    F totals[kColumns][kRows];
#pragma GCC unroll 4
    for (int c = 0; c < kColumns; ++c) {
      const int64_t column = smaller_of(j + c * stride, a.n_end - 1);
      start_row<kRows>(a, column, kRows == 1 ? x.units : nullptr, start[c]);
      codes[c] = w.codes + column * (w.k / 2);
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) totals[c][r] = start[c].biases[r];
    }
    const GroupScales pick(w.group);
    const int8_t* block = x.digits;
    for (int64_t k = 0; k < w.k; k += kFixedBlock, block += kDigitBlock) {
      W low[kColumns], high[kColumns];
      I sums[kColumns][kRows];
#pragma GCC unroll 4
      for (int c = 0; c < kColumns; ++c) {
        __builtin_prefetch(codes[c] + k / 2 + kBytesAhead);
        const W words = load_words(codes[c] + k / 2, (w.k - k) / 8);
        low[c] = low_nibbles(words);
        high[c] = high_nibbles(words);
      }
#pragma GCC unroll 3
      for (int d = 0; d < kDigits; ++d) {
#pragma GCC unroll 4
        for (int r = 0; r < kRows; ++r) {
          const int8_t* digits = block + r * kDigits * x.padded + 2 * d * kDigitVector;
#pragma GCC unroll 4
          for (int c = 0; c < kColumns; ++c) {
            const I before = d == 0 ? set_i(0) : shift_left<8>(sums[c][r]);
            sums[c][r] =
                dot_bytes(dot_bytes(before, low[c], digits), high[c], digits + kDigitVector);
          }
        }
      }
#pragma GCC unroll 4
      for (int c = 0; c < kColumns; ++c) {
        const F scales = pick.at(start[c].scales, k);
#pragma GCC unroll 4
        for (int r = 0; r < kRows; ++r) {
          const F unit = kRows == 1 ? scales : scales * pick.at(x.units + r * x.groups, k);
          totals[c][r] = fma(to_float(sums[c][r]), unit, totals[c][r]);
        }
      }
    }
    end_rows<kRows, kColumns>(a, j, stride, totals);
  }
};

void dot_fixed(const AffineDotArgs& a) noexcept {
  if (a.x->digits != nullptr) return dot_with<FixedDot>(a);
  dot_with<FloatDot>(a);
}

}  // namespace
}  // namespace pippin::kernels
