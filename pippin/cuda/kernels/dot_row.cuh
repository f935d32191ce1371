// Products of one rounded row of x (dot_round.cuh) with integers: exact sums of a unit, and 32 sums
// of units u = i (mod 32) in fp32, as in dot_fma.cuh.
#pragma once

#include "pippin/cuda/kernels/dot_fma.cuh"
#include "pippin/cuda/kernels/dot_round.cuh"

namespace pippin::cuda {

constexpr uint32_t kHighNibbles = 0xf0f0f0f0u;
// Added to an integer below 2^22, the bits of a float: 1.5 * 2^23 and the integer.
constexpr int kFloatBits = 0x4b400000;
DEVICE float float_of(int biased) {
  return bits_to_float(static_cast<uint32_t>(biased)) - 12582912.0f;
}

// Sixteen even and sixteen odd columns; of Int4 both in one.
template <bool IsSmall>
struct UnitCodes {
  uint4 even, odd;

  DEVICE static UnitCodes load(const unsigned char* row, int unit, int units) {
    const auto* p = reinterpret_cast<const uint4*>(row) + unit;
    UnitCodes codes;
    codes.even = load_stream(p);
    if constexpr (!IsSmall) codes.odd = load_stream(p + units);
    return codes;
  }
  DEVICE static int word_dot(uint32_t even, uint32_t odd, uint32_t x_even, uint32_t x_odd,
                             int sum) {
    const uint32_t low = IsSmall ? even << 4 & kHighNibbles : even;
    const uint32_t high = IsSmall ? even & kHighNibbles : odd;
    sum = dot4(static_cast<int>(low), static_cast<int>(x_even), sum);
    return dot4(static_cast<int>(high), static_cast<int>(x_odd), sum);
  }
  // An exact sum of products, times 16 if IsSmall.
  DEVICE float dot(const uint4& x_even, const uint4& x_odd) const {
    int sum = kFloatBits;
    sum = word_dot(even.x, odd.x, x_even.x, x_odd.x, sum);
    sum = word_dot(even.y, odd.y, x_even.y, x_odd.y, sum);
    sum = word_dot(even.z, odd.z, x_even.z, x_odd.z, sum);
    return float_of(word_dot(even.w, odd.w, x_even.w, x_odd.w, sum));
  }
};

// A unit's scale and shift, as stored.
template <bool IsFloat>
struct StoredNumber {
  uint32_t bits;
  DEVICE static StoredNumber load(const void* numbers, int64_t at) {
    if constexpr (IsFloat) return {load_stream(static_cast<const uint32_t*>(numbers) + at)};
    return {load_stream(static_cast<const uint16_t*>(numbers) + at)};
  }
  DEVICE float value() const {
    return IsFloat ? bits_to_float(bits) : half_to_float(static_cast<uint16_t>(bits));
  }
};
// The shift itself, from the stored ones.
template <bool IsFloat>
DEVICE float shift_of(float stored, float scale) {
  return IsFloat ? stored : stored * scale;
}

// R rows of W for each warp, C units of each lane at a time. `Rounds`: the block rounds x, while
// the first weights are on their way; better than another launch for rows that are not long.
template <bool IsSmall, bool IsFloat, bool HasShifts, bool Rounds, int R, int C>
DEVICE void dot_row(const DotArgs& a) {
  SHARED(shared);
  const int lane = lane_index(), units = (a.k + 31) / 32;
  float* const sums = reinterpret_cast<float*>(shared) + warp_index() * (R * 33);
  const DotPlace place = dot_place(a, block_threads() / 32 * R, 1);
  if (place.is_nothing) return;
  const DotPlace& p = place;
  const int first = place.first_column + warp_index() * R;
  const unsigned char* rows[R];
  int64_t numbers[R];
  float acc[R];
  UNROLL
  for (int r = 0; r < R; ++r) {
    const int64_t j = place.matrix * p.n + min(first + r, p.n - 1);
    rows[r] = p.rows + j * p.row_bytes;
    numbers[r] = j * a.numbers.per_row;
    acc[r] = 0;
  }
  UnitCodes<IsSmall> codes[R][C];
  StoredNumber<IsFloat> scales[R][C], shifts[R][C];
  const auto load = [&](int begin) {
    UNROLL
    for (int c = 0; c < C; ++c) {
      const int unit = min(begin + 32 * c, units - 1);
      UNROLL
      for (int r = 0; r < R; ++r) {
        codes[r][c] = UnitCodes<IsSmall>::load(rows[r], unit, units);
        scales[r][c] = StoredNumber<IsFloat>::load(p.scales, numbers[r] + unit);
        if constexpr (HasShifts) {
          shifts[r][c] = StoredNumber<IsFloat>::load(p.shifts, numbers[r] + unit);
        }
      }
    }
  };
  load(lane);
  const unsigned char* x;
  if constexpr (Rounds) {
    unsigned char* const rounded = shared + (block_threads() / 32 * R * 33 * 4 + 15) / 16 * 16;
    round_row(rounded, row_of_x(a, place, 0), a.k, a.has_aligned_x);
    barrier();
    x = rounded;
  } else {
    x = a.rounded + place.x_row * rounded_row_bytes(units);
  }
  const auto* const x_even = reinterpret_cast<const uint4*>(x);
  const uint4* const x_odd = x_even + units;
  const auto* const x_scales = reinterpret_cast<const float*>(x_odd + units);
  const float* const x_sums = x_scales + units;
  for (int begin = lane; begin < units; begin += 32 * C) {
    if (begin != lane) load(begin);
    UNROLL
    for (int c = 0; c < C; ++c) {
      const int unit = begin + 32 * c;
      if (unit >= units) break;
      const uint4 even = x_even[unit], odd = x_odd[unit];
      const float x_scale = IsSmall ? x_scales[unit] : x_scales[unit] * 16.0f;
      UNROLL
      for (int r = 0; r < R; ++r) {
        const float scale = scales[r][c].value();
        acc[r] = fmaf(codes[r][c].dot(even, odd), scale * x_scale, acc[r]);
        if constexpr (HasShifts) {
          acc[r] = fmaf(shift_of<IsFloat>(shifts[r][c].value(), scale), x_sums[unit], acc[r]);
        }
      }
    }
  }
  UNROLL
  for (int r = 0; r < R; ++r) sums[r * 33 + lane] = acc[r];
  warp_barrier();
  if (lane < R) {
    store_dot(a, place, place.first_row, first + lane, sum_in_order(sums + lane * 33));
  }
}

// Units of a lane: what fits into 64 registers.
template <bool IsSmall, bool HasShifts>
constexpr int kRowUnits = !IsSmall    ? 2
                          : HasShifts ? 3
                                      : 4;

// For up to 64 units, more, and with x rounded before.
#define PIPPIN_DOT_ROW(name, is_small, is_float, has_shifts)                               \
  DEVICE void dot_short_row_##name##_body(const DotArgs& a) {                              \
    dot_row<is_small, is_float, has_shifts, true, (is_small) ? 2 : 1, 2>(a);               \
  }                                                                                        \
  DEVICE void dot_row_##name##_body(const DotArgs& a) {                                    \
    dot_row<is_small, is_float, has_shifts, true, 1, kRowUnits<is_small, has_shifts>>(a);  \
  }                                                                                        \
  DEVICE void dot_rounded_row_##name##_body(const DotArgs& a) {                            \
    dot_row<is_small, is_float, has_shifts, false, 1, kRowUnits<is_small, has_shifts>>(a); \
  }
PIPPIN_DOT_ROW(int4, true, false, false)
PIPPIN_DOT_ROW(int4_shifts, true, false, true)
PIPPIN_DOT_ROW(int4_f32, true, true, false)
PIPPIN_DOT_ROW(int4_f32_shifts, true, true, true)
PIPPIN_DOT_ROW(int8, false, false, false)
PIPPIN_DOT_ROW(int8_shifts, false, false, true)
PIPPIN_DOT_ROW(int8_f32, false, true, false)
PIPPIN_DOT_ROW(int8_f32_shifts, false, true, true)
#undef PIPPIN_DOT_ROW

}  // namespace pippin::cuda
