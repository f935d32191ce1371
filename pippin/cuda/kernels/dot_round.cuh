// Rows of x in 8 bits: a scale for each unit of 32 columns, whose largest magnitude becomes 127. A
// unit that contains an infinity or NaN gets the scale NaN.
//
// W's nibbles are used shifted to the left by four bits, so scales are divided by 16: by kernels
// for bytes, multiplied again. Sums are those of a unit's rounded values.
//
//   a row                E[units] 16 bytes: the even columns | O[units]: the odd ones |
//                        scales[units] | sums[units]
//   fragments, 8 rows    [units][8 rows][4]{4 even columns, 4 odd ones} |
//                        scales[units][8 rows] | sums[units][8 rows]
#pragma once

#include "pippin/cuda/kernels/blocks.cuh"
#include "pippin/cuda/kernels/dot_args.h"

namespace pippin::cuda {

constexpr float kNibbleScale = 1.0f / 16;

// A row of units is this long, in any layout: a multiple of 16.
DEVICE int64_t rounded_row_bytes(int units) {
  return int64_t{(units + 1) / 2} * 80;
}

// Eight lanes for a unit. Blocks: units of a row, then rows of all batches.
DEVICE void round_rows_body(const RoundArgs& a) {
  const int units = (a.k + 31) / 32, lane = lane_index();
  const int unit_blocks = (units + block_threads() / 8 - 1) / (block_threads() / 8);
  const int unit =
      static_cast<int>(blockIdx.x) % unit_blocks * (block_threads() / 8) + thread_index() / 8;
  const int64_t all_row = static_cast<int64_t>(blockIdx.x) / unit_blocks;
  const int64_t batch = all_row / a.m;
  const int row = static_cast<int>(all_row % a.m), part = lane & 7, first = unit * 32 + part * 4;
  const float* x = a.x + batch * a.x_batch + row * a.x_stride;
  float v[4];
  uint32_t largest_bits = 0;
  UNROLL
  for (int i = 0; i < 4; ++i) {
    v[i] = first + i < a.k ? x[first + i] : 0.0f;
    largest_bits = max(largest_bits, float_to_bits(v[i]) & 0x7fffffffu);
  }
  for (int mask = 1; mask < 8; mask <<= 1) {
    largest_bits = max(largest_bits, across_lanes(largest_bits, mask));
  }
  const bool is_finite = largest_bits < 0x7f800000u;
  const float largest = bits_to_float(largest_bits);
  // Below this the inverse would overflow: the values become 0.
  const float inverse = is_finite && largest >= 1e-36f ? 127.0f / largest : 0.0f;
  const float scale = is_finite ? largest / 127.0f : bits_to_float(0x7fc00000u);
  int values[4], sum = 0;
  UNROLL
  for (int i = 0; i < 4; ++i) {
    values[i] = inverse != 0 ? round_to_int(v[i] * inverse) : 0;
    sum += values[i];
  }
  for (int mask = 1; mask < 8; mask <<= 1) sum += across_lanes(sum, mask);
  if (unit >= units) return;
  const auto even = static_cast<uint16_t>((values[0] & 255) | (values[2] & 255) << 8);
  const auto odd = static_cast<uint16_t>((values[1] & 255) | (values[3] & 255) << 8);
  const int64_t row_bytes = rounded_row_bytes(units);
  if (a.in_fragments) {
    const int64_t groups = (a.m + 7) / 8;
    unsigned char* const group = a.to + (batch * groups + row / 8) * 8 * row_bytes;
    auto* const pairs =
        reinterpret_cast<uint16_t*>(group) + unit * 128 + row % 8 * 16 + part / 2 * 4 + part % 2;
    pairs[0] = even;
    pairs[2] = odd;
    if (part > 0) return;
    auto* const scales = reinterpret_cast<float*>(group + int64_t{units} * 256);
    scales[unit * 8 + row % 8] = scale * kNibbleScale;
    scales[(units + unit) * 8 + row % 8] = scale * static_cast<float>(sum);
  } else {
    unsigned char* const to = a.to + all_row * row_bytes;
    reinterpret_cast<uint16_t*>(to)[unit * 8 + part] = even;
    reinterpret_cast<uint16_t*>(to)[(units + unit) * 8 + part] = odd;
    if (part > 0) return;
    auto* const scales = reinterpret_cast<float*>(to + int64_t{units} * 32);
    scales[unit] = scale * kNibbleScale;
    scales[units + unit] = scale * static_cast<float>(sum);
  }
}

}  // namespace pippin::cuda
