// Products of many rounded rows of x (dot_round.cuh, in fragments) with integers: 64 rows of W by
// 128 of x in a block, on tensor cores, with the sums of dot_row.cuh.
//
// A sum of units u = i (mod 32) is finished before the next one begins; two neighbouring ones are
// made at a time, so that 32 bytes of a row of W are read together:
//
//   for i = 0, 2, ... 30:  for u = i, i + 32, ...:  sums[0] += unit u, sums[1] += unit u + 1
//                          total += sums[0]; total += sums[1]
//
// Units u and u + 1 are a stage, copied ahead of its use. Warps: 2 by 4, each 32 by 32.
#pragma once

#include "pippin/cuda/kernels/dot_row.cuh"

namespace pippin::cuda {

constexpr int kManyColumns = 64, kManyRows = 128, kManyWarps = 8;

// Offsets in a stage.
template <bool IsSmall>
struct ManyStage {
  static constexpr int kPlanes = IsSmall ? 1 : 2;
  static constexpr int kCodes = 0;                               // [2 units][planes][64] 16 bytes
  static constexpr int kWords = kCodes + 2 * kPlanes * 64 * 16;  // [16 groups][2 units] 256 bytes
  static constexpr int kScalesX = kWords + 16 * 2 * 256;         // [16 groups][2 units][8]
  static constexpr int kSumsX = kScalesX + 16 * 2 * 8 * 4;
  static constexpr int kScales = kSumsX + 16 * 2 * 8 * 4;  // [64][2 units], 4 bytes for each unit
  static constexpr int kShifts = kScales + 64 * 8;
  static constexpr int kBytes = kShifts + 64 * 8;
  static constexpr int kStages = 3;
};

// Goes through the first units of stages.
struct ManyUnits {
  int unit = 0, units;
  DEVICE bool is_done() const { return unit >= units; }
  // Whether the next stage has other sums.
  DEVICE bool is_last() const { return unit + 32 >= units; }
  DEVICE void next() {
    if (!is_last()) {
      unit += 32;
    } else {
      unit = unit % 32 + 2;
      if (unit >= 32) unit = units;
    }
  }
};

template <bool IsFloat>
DEVICE float number_of_two(const unsigned char* numbers, int row, int which) {
  if constexpr (IsFloat) return reinterpret_cast<const float*>(numbers)[row * 2 + which];
  return half_to_float(reinterpret_cast<const uint16_t*>(numbers)[row * 2 + which]);
}

template <bool IsSmall, bool IsFloat, bool HasShifts>
DEVICE void dot_many(const DotArgs& a) {
  using Stage = ManyStage<IsSmall>;
  SHARED(shared);
  const int thread = thread_index(), lane = lane_index(), warp = warp_index();
  const int g = lane >> 2, t = lane & 3, units = (a.k + 31) / 32;
  const DotPlace place = dot_place(a, kManyColumns, kManyRows);
  if (place.is_nothing) return;
  const int64_t first = place.matrix * place.n + place.first_column;
  const int last = place.n - 1 - place.first_column;
  const int64_t groups = (a.m + 7) / 8, group_bytes = 8 * rounded_row_bytes(units);
  const int last_group = static_cast<int>(groups) - 1 - place.first_row / 8;
  const unsigned char* const x =
      a.rounded + (place.batch * groups + place.first_row / 8) * group_bytes;

  const auto copy_stage = [&](int stage, int unit) {
    unsigned char* const to = shared + stage * Stage::kBytes;
    UNROLL
    for (int i = 0; i < 2; ++i) {
      const int at = thread + 256 * i, group = at / 32, part = at % 32;
      const int u = min(unit + part / 16, units - 1);
      copy_later(to + Stage::kWords + at * 16,
                 x + min(group, last_group) * group_bytes + u * 256 + part % 16 * 16);
    }
    if (thread < 128) {
      const int row = thread / 2, which = thread % 2, u = min(unit + which, units - 1);
      const unsigned char* from = place.rows + (first + min(row, last)) * place.row_bytes + u * 16;
      unsigned char* const codes = to + Stage::kCodes + (which * Stage::kPlanes * 64 + row) * 16;
      copy_later(codes, from);
      if constexpr (!IsSmall) copy_later(codes + 64 * 16, from + units * 16);
    } else {
      const int at = thread % 64, group = min(at / 4, last_group), part = at % 4;
      const int u = min(unit + part / 2, units - 1);
      if (thread < 192) {
        copy_later(to + Stage::kScalesX + at * 16,
                   x + group * group_bytes + units * 256 + u * 32 + part % 2 * 16);
      } else if constexpr (HasShifts) {
        copy_later(to + Stage::kSumsX + at * 16,
                   x + group * group_bytes + units * 288 + u * 32 + part % 2 * 16);
      }
      // The padding of a row's numbers covers a unit behind an odd last one.
      constexpr int kNumbers = IsFloat ? 8 : 4;
      const int64_t number = ((first + min(at, last)) * a.numbers.per_row + unit) * (kNumbers / 2);
      if (thread >= 192) {
        copy_later<kNumbers>(to + Stage::kScales + at * kNumbers,
                             static_cast<const unsigned char*>(place.scales) + number);
      } else if constexpr (HasShifts) {
        copy_later<kNumbers>(to + Stage::kShifts + at * kNumbers,
                             static_cast<const unsigned char*>(place.shifts) + number);
      }
    }
  };

  float sums[2][2][4][4], total[2][4][4];
  const auto for_all = [&](const auto& body) {
    UNROLL
    for (int tile = 0; tile < 2; ++tile) {
      UNROLL
      for (int group = 0; group < 4; ++group) {
        UNROLL
        for (int i = 0; i < 4; ++i) body(tile, group, i);
      }
    }
  };
  for_all([&](int tile, int group, int i) {
    sums[0][tile][group][i] = sums[1][tile][group][i] = total[tile][group][i] = 0;
  });
  const int first_row = warp % 2 * 32, first_group = warp / 2 * 4;  // of this warp

  ManyUnits ahead{0, units}, now{0, units};
  UNROLL
  for (int i = 0; i < Stage::kStages - 1; ++i) {
    if (!ahead.is_done()) {
      copy_stage(i, ahead.unit);
      ahead.next();
    }
    end_copy_group();
  }
  for (int step = 0; !now.is_done(); ++step) {
    wait_for_copies<Stage::kStages - 2>();
    barrier();  // all parts of the stage have arrived, and all threads are done with the one before
    if (!ahead.is_done()) {
      copy_stage((step + Stage::kStages - 1) % Stage::kStages, ahead.unit);
      ahead.next();
    }
    end_copy_group();
    const unsigned char* const stage = shared + step % Stage::kStages * Stage::kBytes;
    UNROLL
    for (int which = 0; which < 2; ++which) {
      if (now.unit + which >= units) break;
      uint32_t words[4], odd_words[4];
      const unsigned char* const codes =
          stage + Stage::kCodes + (which * Stage::kPlanes * 64 + first_row + lane) * 16;
      load_matrices(words, codes);
      if constexpr (!IsSmall) load_matrices(odd_words, codes + 64 * 16);
      float scales[4], shifts[4];
      UNROLL
      for (int i = 0; i < 4; ++i) {
        const int row = first_row + i * 8 + g;
        scales[i] = number_of_two<IsFloat>(stage + Stage::kScales, row, which);
        if constexpr (HasShifts) {
          shifts[i] = shift_of<IsFloat>(number_of_two<IsFloat>(stage + Stage::kShifts, row, which),
                                        scales[i]);
        }
      }
      UNROLL
      for (int group = 0; group < 4; ++group) {
        const int at = (first_group + group) * 2 + which;
        const uint2 pair = reinterpret_cast<const uint2*>(stage + Stage::kWords)[at * 32 + lane];
        const uint32_t columns[2] = {pair.x, pair.y};
        const auto* const scales_x =
            reinterpret_cast<const float*>(stage + Stage::kScalesX) + at * 8 + 2 * t;
        const auto* const sums_x =
            reinterpret_cast<const float*>(stage + Stage::kSumsX) + at * 8 + 2 * t;
        float x_scale[2] = {scales_x[0], scales_x[1]};
        if constexpr (!IsSmall) x_scale[0] *= 16.0f, x_scale[1] *= 16.0f;
        UNROLL
        for (int tile = 0; tile < 2; ++tile) {
          const uint32_t low = words[tile * 2], high = words[tile * 2 + 1];
          const uint32_t all[4] = {IsSmall ? low << 4 & kHighNibbles : low,
                                   IsSmall ? high << 4 & kHighNibbles : high,
                                   IsSmall ? low & kHighNibbles : odd_words[tile * 2],
                                   IsSmall ? high & kHighNibbles : odd_words[tile * 2 + 1]};
          int d[4] = {kFloatBits, kFloatBits, kFloatBits, kFloatBits};
          multiply_int8(d, all, columns);
          UNROLL
          for (int i = 0; i < 4; ++i) {
            float& sum = sums[which][tile][group][i];
            sum = fmaf(float_of(d[i]), scales[tile * 2 + i / 2] * x_scale[i % 2], sum);
            if constexpr (HasShifts) sum = fmaf(shifts[tile * 2 + i / 2], sums_x[i % 2], sum);
          }
        }
      }
    }
    if (now.is_last()) {
      for_all([&](int tile, int group, int i) {
        total[tile][group][i] += sums[0][tile][group][i];
        total[tile][group][i] += sums[1][tile][group][i];
        sums[0][tile][group][i] = sums[1][tile][group][i] = 0;
      });
    }
    now.next();
  }
  wait_for_copies<0>();
  for_all([&](int tile, int group, int i) {
    store_dot(a, place, place.first_row + (first_group + group) * 8 + 2 * t + i % 2,
              place.first_column + first_row + tile * 16 + i / 2 * 8 + g, total[tile][group][i]);
  });
}

#define PIPPIN_DOT_MANY(name, is_small, is_float, has_shifts) \
  DEVICE void dot_many_##name##_body(const DotArgs& a) {      \
    dot_many<is_small, is_float, has_shifts>(a);              \
  }
PIPPIN_DOT_MANY(int4, true, false, false)
PIPPIN_DOT_MANY(int4_shifts, true, false, true)
PIPPIN_DOT_MANY(int4_f32, true, true, false)
PIPPIN_DOT_MANY(int4_f32_shifts, true, true, true)
PIPPIN_DOT_MANY(int8, false, false, false)
PIPPIN_DOT_MANY(int8_shifts, false, false, true)
PIPPIN_DOT_MANY(int8_f32, false, true, false)
PIPPIN_DOT_MANY(int8_f32_shifts, false, true, true)
#undef PIPPIN_DOT_MANY

}  // namespace pippin::cuda
