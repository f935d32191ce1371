// Products of 8 rounded rows of x (dot_round.cuh, in fragments) with 16 rows of integers, on tensor
// cores; with the sums of dot_row.cuh: warp w has the units u = 8w ... 8w + 7 (mod 32).
//
//   W: 16 rows x 8 units ──copy_later──► shared memory, a ring of stages for each warp:
//      a row's 8 units, unit u at place u ^ (row % 8), so that reads of a column of units meet no bank
//      twice ──load_matrices──► lane (g, t) has word t of rows g and g + 8
#pragma once

#include "pippin/cuda/kernels/dot_prepared.cuh"

namespace pippin::cuda {

constexpr int kTileColumns = 16, kTileRows = 8, kTileWarps = 4;
constexpr int kTileRing = 8192;  // bytes, of a warp

// Scales and shifts of 16 rows and 8 units: four units of a row in each lane.
template <bool IsFloat>
struct TileNumbers {
  uint4 bits;  // fp16: in x and y
  DEVICE static TileNumbers load(const void* numbers, int64_t at) {
    TileNumbers t;
    if constexpr (IsFloat) {
      t.bits = *reinterpret_cast<const uint4*>(static_cast<const float*>(numbers) + at);
    } else {
      const uint2 halves =
          *reinterpret_cast<const uint2*>(static_cast<const uint16_t*>(numbers) + at);
      t.bits.x = halves.x;
      t.bits.y = halves.y;
    }
    return t;
  }
  DEVICE void values(float (&v)[4]) const {
    if constexpr (IsFloat) {
      v[0] = bits_to_float(bits.x), v[1] = bits_to_float(bits.y);
      v[2] = bits_to_float(bits.z), v[3] = bits_to_float(bits.w);
    } else {
      v[0] = half_to_float(static_cast<uint16_t>(bits.x));
      v[1] = half_to_float(static_cast<uint16_t>(bits.x >> 16));
      v[2] = half_to_float(static_cast<uint16_t>(bits.y));
      v[3] = half_to_float(static_cast<uint16_t>(bits.y >> 16));
    }
  }
};

// If results are gated, the tile's first 8 rows are those of gate, the others those of up.
template <bool IsSmall, bool IsFloat, bool HasShifts>
DEVICE void dot_tile(const PreparedDotArgs& prepared) {
  const DotArgs& a = prepared.dot;
  constexpr int kStageBytes = IsSmall ? 2048 : 4096, kStages = kTileRing / kStageBytes;
  SHARED(shared);
  const int lane = lane_index(), warp = warp_index(), g = lane >> 2, t = lane & 3;
  const int units = (a.k + 31) / 32;
  unsigned char* const ring = shared + warp * kTileRing;
  // Of a stage: [8 units][16 rows].
  float* const scales = reinterpret_cast<float*>(shared + kTileWarps * kTileRing) + warp * 256;
  float* const shifts = scales + 128;
  const bool is_gated = prepared.gated != nullptr;
  if (a.pairs != nullptr) wait_for_previous();  // which of them there are
  const DotPlace place = dot_place(a, is_gated ? kTileColumns / 2 : kTileColumns, kTileRows);
  if (place.is_nothing) return;
  const DotPlace& p = place;
  const DotProduct& up = a.products[1];  // if results are gated
  const int64_t first = place.matrix * p.n + place.first_column;
  const int last = p.n - 1 - place.first_column;  // row of the tile
  const auto is_up = [&](int row) { return is_gated && row >= 8; };
  const auto row_of = [&](int row) { return first + min(is_up(row) ? row - 8 : row, last); };
  const int steps = (units - 8 * warp + 31) / 32;  // this warp's, of 8 units

  const auto copy_stage = [&](int step) {
    if (step < steps) {
      unsigned char* const to = ring + step % kStages * kStageBytes;
      UNROLL
      for (int i = 0; i < 4; ++i) {
        const int row = 4 * i + lane / 8;
        const int unit = min(step * 32 + warp * 8 + lane % 8, units - 1);
        const unsigned char* from =
            (is_up(row) ? up.rows : p.rows) + row_of(row) * p.row_bytes + unit * 16;
        const int at = row * 128 + (lane % 8 ^ (row & 7)) * 16;
        copy_later(to + at, from);
        if constexpr (!IsSmall) copy_later(to + 2048 + at, from + units * 16);
      }
    }
    end_copy_group();
  };
  const int64_t number_row = row_of(lane / 2) * a.numbers.per_row + lane % 2 * 4;
  const void* const all_scales = is_up(lane / 2) ? up.scales : p.scales;
  const void* const all_shifts = is_up(lane / 2) ? up.shifts : p.shifts;
  const auto load_numbers = [&](const void* numbers, int step) {
    // The padding of a row's numbers covers its last step.
    return TileNumbers<IsFloat>::load(numbers, number_row + step * 32 + warp * 8);
  };
  const auto store_numbers = [&](float* to, const TileNumbers<IsFloat>& numbers) {
    float v[4];
    numbers.values(v);
    UNROLL
    for (int i = 0; i < 4; ++i) to[(lane % 2 * 4 + i) * 16 + lane / 2] = v[i];
  };

  const int64_t groups = (a.m + 7) / 8;
  const unsigned char* const x =
      a.rounded + (place.batch * groups + place.first_row / 8) * 8 * rounded_row_bytes(units);
  const auto* const x_words = reinterpret_cast<const uint2*>(x);
  const auto* const x_scales = reinterpret_cast<const float*>(x + int64_t{units} * 256);
  const float* const x_sums = x_scales + units * 8;

  float acc[8][4];
  UNROLL
  for (int u = 0; u < 8; ++u) {
    UNROLL
    for (int i = 0; i < 4; ++i) acc[u][i] = 0;
  }
  for (int step = 0; step < kStages - 1; ++step) copy_stage(step);
  wait_for_previous();  // the matrices do not depend on it
  TileNumbers<IsFloat> next_scales{}, next_shifts{};
  if (steps > 0) {
    next_scales = load_numbers(all_scales, 0);
    if constexpr (HasShifts) next_shifts = load_numbers(all_shifts, 0);
  }
  for (int step = 0; step < steps; ++step) {
    const int first_unit = step * 32 + warp * 8;
    warp_barrier();  // all lanes are done with the previous stage and its numbers
    copy_stage(step + kStages - 1);
    store_numbers(scales, next_scales);
    if constexpr (HasShifts) store_numbers(shifts, next_shifts);
    if (step + 1 < steps) {
      next_scales = load_numbers(all_scales, step + 1);
      if constexpr (HasShifts) next_shifts = load_numbers(all_shifts, step + 1);
    }
    wait_for_copies<kStages - 1>();
    warp_barrier();
    const unsigned char* const stage = ring + step % kStages * kStageBytes;
    uint32_t words[4];
    UNROLL
    for (int u = 0; u < 8; ++u) {
      const int unit = first_unit + u;
      if (unit >= units) break;
      const int row = lane & 15;
      if (IsSmall && u % 2 == 0) {
        load_matrices(words, stage + row * 128 + ((u + lane / 16) ^ (row & 7)) * 16);
      } else if (!IsSmall) {
        load_matrices(words, stage + lane / 16 * 2048 + row * 128 + (u ^ (row & 7)) * 16);
      }
      const uint32_t low = words[u % 2 * 2], high = words[u % 2 * 2 + 1];
      const uint32_t codes[4] = {IsSmall ? low << 4 & kHighNibbles : words[0],
                                 IsSmall ? high << 4 & kHighNibbles : words[1],
                                 IsSmall ? low & kHighNibbles : words[2],
                                 IsSmall ? high & kHighNibbles : words[3]};
      const uint2 pair = x_words[unit * 32 + lane];
      const uint32_t columns[2] = {pair.x, pair.y};
      int d[4] = {kFloatBits, kFloatBits, kFloatBits, kFloatBits};
      multiply_int8(d, codes, columns);
      float x_scale[2] = {x_scales[unit * 8 + 2 * t], x_scales[unit * 8 + 2 * t + 1]};
      if constexpr (!IsSmall) x_scale[0] *= 16.0f, x_scale[1] *= 16.0f;
      UNROLL
      for (int i = 0; i < 4; ++i) {
        const float scale = scales[u * 16 + g + i / 2 * 8];
        acc[u][i] = fmaf(float_of(d[i]), scale * x_scale[i % 2], acc[u][i]);
        if constexpr (HasShifts) {
          const float shift = shift_of<IsFloat>(shifts[u * 16 + g + i / 2 * 8], scale);
          acc[u][i] = fmaf(shift, x_sums[unit * 8 + 2 * t + i % 2], acc[u][i]);
        }
      }
    }
  }
  wait_for_copies<0>();
  barrier();
  // [32 sums][16 columns][8 rows of x]
  auto* const parts = reinterpret_cast<float*>(shared);
  UNROLL
  for (int u = 0; u < 8; ++u) {
    UNROLL
    for (int i = 0; i < 4; ++i) {
      parts[(warp * 8 + u) * 128 + (g + i / 2 * 8) * 8 + 2 * t + i % 2] = acc[u][i];
    }
  }
  barrier();
  // Neighbouring threads have neighbouring columns of y.
  const auto sum_of = [&](int row, int column) {
    const float* const mine = parts + column * 8 + row;
    float sum = mine[0];
    UNROLL_BY(8)
    for (int i = 1; i < 32; ++i) sum += mine[i * 128];
    return sum;
  };
  const int columns = is_gated ? 8 : 16;
  const int row = thread_index() / columns, column = thread_index() % columns;
  const int i = place.first_row + row, j = place.first_column + column;
  if (!is_gated) return store_dot(a, place, i, j, sum_of(row, column));
  if (row >= kTileRows) return;
  store_gated(prepared, place, i, j, sum_of(row, column), sum_of(row, column + 8));
}

#define PIPPIN_DOT_TILE(name, is_small, is_float, has_shifts)    \
  DEVICE void dot_tile_##name##_body(const PreparedDotArgs& a) { \
    dot_tile<is_small, is_float, has_shifts>(a);                 \
  }
PIPPIN_DOT_TILE(int4, true, false, false)
PIPPIN_DOT_TILE(int4_shifts, true, false, true)
PIPPIN_DOT_TILE(int4_f32, true, true, false)
PIPPIN_DOT_TILE(int4_f32_shifts, true, true, true)
PIPPIN_DOT_TILE(int8, false, false, false)
PIPPIN_DOT_TILE(int8_shifts, false, false, true)
PIPPIN_DOT_TILE(int8_f32, false, true, false)
PIPPIN_DOT_TILE(int8_f32_shifts, false, true, true)
#undef PIPPIN_DOT_TILE

}  // namespace pippin::cuda
