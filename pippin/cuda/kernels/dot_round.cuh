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

#include "pippin/cuda/kernels/dot_args.h"
#include "pippin/cuda/kernels/normed_row.cuh"

namespace pippin::cuda {

constexpr float kNibbleScale = 1.0f / 16;

// A row of units is this long, in any layout: a multiple of 16.
DEVICE int64_t rounded_row_bytes(int units) {
  return int64_t{(units + 1) / 2} * 80;
}

// Four columns of a unit, rounded by eight lanes together.
struct RoundedFour {
  uint16_t even, odd;  // two bytes each
  float scale, sum;
};
DEVICE RoundedFour round_four(const float (&v)[4]) {
  uint32_t largest_bits = 0;
  UNROLL
  for (int i = 0; i < 4; ++i) largest_bits = max(largest_bits, float_to_bits(v[i]) & 0x7fffffffu);
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
  return {static_cast<uint16_t>((values[0] & 255) | (values[2] & 255) << 8),
          static_cast<uint16_t>((values[1] & 255) | (values[3] & 255) << 8), scale * kNibbleScale,
          scale * static_cast<float>(sum)};
}

// Writes a unit's part to a row of the first layout.
DEVICE void store_rounded(unsigned char* to, int units, int unit, int part, const RoundedFour& r) {
  reinterpret_cast<uint16_t*>(to)[unit * 8 + part] = r.even;
  reinterpret_cast<uint16_t*>(to)[(units + unit) * 8 + part] = r.odd;
  if (part > 0) return;
  auto* const scales = reinterpret_cast<float*>(to + units * 32);
  scales[unit] = r.scale;
  scales[units + unit] = r.sum;
}

// Rounds a row to shared memory, by the whole block; a barrier must follow.
DEVICE void round_row(unsigned char* to, const float* x, int k, bool is_aligned) {
  const int units = (k + 31) / 32, part = thread_index() & 7;
  for (int begin = 0; begin < units; begin += block_threads() / 8) {
    const int unit = begin + thread_index() / 8;
    float v[4];
    load_four(v, x, unit * 32 + part * 4, k, is_aligned);
    const RoundedFour r = round_four(v);
    if (unit < units) store_rounded(to, units, unit, part, r);
  }
}

// Eight lanes for a unit. Blocks: parts of a row, then rows of all batches.
DEVICE void round_rows_body(const RoundArgs& a) {
  SHARED(shared);
  const int units = (a.k + 31) / 32, part = thread_index() & 7;
  const int each = (units + a.parts - 1) / a.parts;
  const int64_t all_row = static_cast<int64_t>(blockIdx.x) / a.parts;
  const int first = static_cast<int>(blockIdx.x) % a.parts * each, last = min(first + each, units);
  const int64_t batch = all_row / a.m;
  const int row = static_cast<int>(all_row % a.m);
  const NormedRow x{a.x + batch * a.x_batch + row * a.x_stride,
                    a.gamma,
                    a.k,
                    a.epsilon,
                    a.has_aligned_x,
                    a.has_norm};
  const float factor = x.factor(reinterpret_cast<float*>(shared));
  const int64_t row_bytes = rounded_row_bytes(units);
  unsigned char* const group = a.to + (batch * ((a.m + 7) / 8) + row / 8) * 8 * row_bytes;
  for (int begin = first; begin < last; begin += block_threads() / 8) {
    const int unit = begin + thread_index() / 8;
    float v[4];
    x.load(v, unit * 32 + part * 4, factor);
    const RoundedFour r = round_four(v);
    if (unit >= last) continue;
    if (!a.in_fragments) {
      store_rounded(a.to + all_row * row_bytes, units, unit, part, r);
      continue;
    }
    auto* const pairs =
        reinterpret_cast<uint16_t*>(group) + unit * 128 + row % 8 * 16 + part / 2 * 4 + part % 2;
    pairs[0] = r.even;
    pairs[2] = r.odd;
    if (part > 0) continue;
    auto* const scales = reinterpret_cast<float*>(group + int64_t{units} * 256);
    scales[unit * 8 + row % 8] = r.scale;
    scales[(units + unit) * 8 + row % 8] = r.sum;
  }
}

}  // namespace pippin::cuda
