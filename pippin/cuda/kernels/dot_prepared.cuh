// A decode step's products with integers: each block normalizes and rounds the row of x in shared
// memory while its first weights are on their way, and may apply the gate of an MLP to its results.
// So one launch does the work of three. Sums are those of rms_norm, dot_round.cuh and
// dot_row.cuh.
#pragma once

#include "pippin/cuda/kernels/dot_prepared_args.h"
#include "pippin/cuda/kernels/dot_row.cuh"
#include "pippin/cuda/kernels/functions.cuh"
#include "pippin/cuda/kernels/normed_row.cuh"

namespace pippin::cuda {

// Stores the gated result (i, j) of the sums of products 0 and 1.
DEVICE void store_gated(const PreparedDotArgs& a, const DotPlace& place, int i, int j, float gate,
                        float up) {
  if (i >= a.dot.m || j >= place.n) return;
  const float *const bias = a.dot.products[0].bias, *const up_bias = a.dot.products[1].bias;
  if (bias != nullptr) gate += bias[j];
  if (up_bias != nullptr) up += up_bias[j];
  a.gated[i * a.gated_stride + j] = gate_value(a.activation, gate) * up;
}

// The product's only row of x.
DEVICE NormedRow normed_row(const PreparedDotArgs& a) {
  return {a.dot.x, a.gamma, a.dot.k, a.epsilon, a.dot.has_aligned_x, a.has_norm};
}

// Writes it as a rounded row.
DEVICE void prepare_row(const PreparedDotArgs& a, unsigned char* row, float* exchange) {
  const NormedRow x = normed_row(a);
  const int units = (x.k + 31) / 32, groups = units * 8;
  const float factor = x.factor(exchange);
  for (int first = warp_index() * 32; first < groups; first += block_threads()) {
    const int group = first + lane_index();
    float v[4];
    x.load(v, 4 * group, factor);
    const RoundedFour rounded = round_four(v);
    if (group < groups) store_rounded(row, units, group / 8, group % 8, rounded);
  }
  barrier();
}

// Two rows of W for each warp: neighbours, or those of gate and up. `shared`: a rounded row, then
// 32 + 66 * warps floats.
template <bool IsSmall, bool IsFloat, bool HasShifts>
DEVICE void dot_prepared(const PreparedDotArgs& prepared) {
  SHARED(shared);
  constexpr int kRows = 2, kUnits = 2;
  const DotArgs& a = prepared.dot;
  const int lane = lane_index(), warps = block_threads() / 32, units = (a.k + 31) / 32;
  float* const exchange = reinterpret_cast<float*>(shared + rounded_row_bytes(units));
  float* const sums = exchange + 32 + warp_index() * (kRows * 33);
  const bool is_gated = prepared.gated != nullptr;
  const DotPlace place = dot_place(a, is_gated ? warps : warps * kRows, 1);
  const int first = place.first_column + warp_index() * (is_gated ? 1 : kRows);
  const unsigned char* rows[kRows];
  const void *scales_of[kRows], *shifts_of[kRows];
  int64_t numbers[kRows];
  float acc[kRows];
  UNROLL
  for (int r = 0; r < kRows; ++r) {
    const bool is_up = is_gated && r > 0;
    const int64_t j = min(is_gated ? first : first + r, place.n - 1);
    rows[r] =
        is_up ? a.products[1].rows + j * a.products[1].row_bytes : place.rows + j * place.row_bytes;
    scales_of[r] = is_up ? a.products[1].scales : place.scales;
    shifts_of[r] = is_up ? a.products[1].shifts : place.shifts;
    numbers[r] = j * a.numbers.per_row;
    acc[r] = 0;
  }
  UnitCodes<IsSmall> codes[kRows][kUnits];
  StoredNumber<IsFloat> scales[kRows][kUnits], shifts[kRows][kUnits];
  const auto load = [&](int begin) {
    UNROLL
    for (int c = 0; c < kUnits; ++c) {
      const int unit = min(begin + 32 * c, units - 1);
      UNROLL
      for (int r = 0; r < kRows; ++r) {
        codes[r][c] = UnitCodes<IsSmall>::load(rows[r], unit, units);
        scales[r][c] = StoredNumber<IsFloat>::load(scales_of[r], numbers[r] + unit);
        if constexpr (HasShifts) {
          shifts[r][c] = StoredNumber<IsFloat>::load(shifts_of[r], numbers[r] + unit);
        }
      }
    }
  };
  load(lane);
  wait_for_previous();
  prepare_row(prepared, shared, exchange);
  const auto* const x_even = reinterpret_cast<const uint4*>(shared);
  const uint4* const x_odd = x_even + units;
  const auto* const x_scales = reinterpret_cast<const float*>(x_odd + units);
  const float* const x_sums = x_scales + units;
  for (int begin = lane; begin < units; begin += 32 * kUnits) {
    if (begin > lane) load(begin);
    UNROLL
    for (int c = 0; c < kUnits; ++c) {
      const int unit = begin + 32 * c;
      if (unit >= units) break;
      const uint4 even = x_even[unit], odd = x_odd[unit];
      const float x_scale = IsSmall ? x_scales[unit] : x_scales[unit] * 16.0f;
      UNROLL
      for (int r = 0; r < kRows; ++r) {
        const float scale = scales[r][c].value();
        acc[r] = fmaf(codes[r][c].dot(even, odd), scale * x_scale, acc[r]);
        if constexpr (HasShifts) {
          acc[r] = fmaf(shift_of<IsFloat>(shifts[r][c].value(), scale), x_sums[unit], acc[r]);
        }
      }
    }
  }
  UNROLL
  for (int r = 0; r < kRows; ++r) sums[r * 33 + lane] = acc[r];
  warp_barrier();
  const float sum = sum_in_order(sums + (lane < kRows ? lane : 0) * 33);
  if (!is_gated) {
    if (lane < kRows) store_dot(a, place, 0, first + lane, sum);
    return;
  }
  const float up = from_lane(sum, 1);
  if (lane == 0) store_gated(prepared, place, 0, first, sum, up);
}

#define PIPPIN_DOT_PREPARED(name, is_small, is_float, has_shifts)    \
  DEVICE void dot_prepared_##name##_body(const PreparedDotArgs& a) { \
    dot_prepared<is_small, is_float, has_shifts>(a);                 \
  }
PIPPIN_DOT_PREPARED(int4, true, false, false)
PIPPIN_DOT_PREPARED(int4_shifts, true, false, true)
PIPPIN_DOT_PREPARED(int4_f32, true, true, false)
PIPPIN_DOT_PREPARED(int4_f32_shifts, true, true, true)
PIPPIN_DOT_PREPARED(int8, false, false, false)
PIPPIN_DOT_PREPARED(int8_shifts, false, false, true)
PIPPIN_DOT_PREPARED(int8_f32, false, true, false)
PIPPIN_DOT_PREPARED(int8_f32_shifts, false, true, true)
#undef PIPPIN_DOT_PREPARED

}  // namespace pippin::cuda
