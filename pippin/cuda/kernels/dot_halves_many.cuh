// Products of many rows of x with fp16, bf16 and 12-bit matrices: 64 rows of W by 128 of x in a
// block, on tensor cores, with the sums of dot_halves.cuh. A sum of spans p = i (mod 8) is finished
// before the next one begins, so that a thread keeps one of them and the total. A span is a stage,
// copied ahead of its use. Warps: 2 by 4, each 32 by 32.
#pragma once

#include "pippin/cuda/kernels/dot_halves.cuh"

namespace pippin::cuda {

// Offsets in a stage. Chunks of 16 bytes of a row change places with others of the row, so that
// eight lanes that read the same ones of neighbouring rows meet no bank twice.
struct HalvesStage {
  static constexpr int kColumns = 64, kRows = 128;    // rows of W, of x
  static constexpr int kW = 0;                        // [64] 128 bytes; of 12 bits:
  static constexpr int kNibbles = 64 * 64;            //   [64] 64 bytes, [64] 32 bytes
  static constexpr int kHigh = 64 * 128;              // [128] 128 bytes
  static constexpr int kLow = kHigh + kRows * 128;    // the same
  static constexpr int kScales = kLow + kRows * 128;  // [128]
  static constexpr int kBytes = kScales + kRows * 4, kStages = 2;

  DEVICE static int of_eight(int row, int chunk) {
    return row * 128 + (chunk ^ (row & 1) << 2) * 16;
  }
  DEVICE static int of_four(int row, int chunk) {
    return row * 64 + (chunk ^ (row >> 1 & 1) << 1) * 16;
  }
  DEVICE static int of_two(int row, int chunk) {
    return kNibbles + row * 32 + (chunk ^ (row >> 2 & 1)) * 16;
  }
};

DEVICE void copy_or_clear(unsigned char* to, const unsigned char* from, bool is_inside) {
  if (is_inside) {
    copy_later(to, from);
  } else {
    *reinterpret_cast<uint4*>(to) = make_uint4(0, 0, 0, 0);
  }
}

// Part of a row of W, by all threads.
template <MatrixForm F, typename Row>
DEVICE void copy_halves(unsigned char* to, const Row& row_of, int span, int k) {
  const int thread = thread_index();
  if constexpr (F == MatrixForm::E4M7) {
    const int columns = (k + 31) / 32 * 32, part = thread % 4, row = thread / 4;
    copy_or_clear(to + HalvesStage::of_four(row, part), row_of(row) + span * 64 + part * 16,
                  span * 64 + part * 16 < columns);
    if (thread >= 128) return;
    const int half = thread % 2;
    copy_or_clear(to + HalvesStage::of_two(thread / 2, half),
                  row_of(thread / 2) + columns + span * 32 + half * 16,
                  span * 64 + half * 32 < columns);
  } else {
    UNROLL
    for (int i = 0; i < 2; ++i) {
      const int row = (thread + 256 * i) / 8, chunk = thread % 8;
      copy_or_clear(to + HalvesStage::of_eight(row, chunk), row_of(row) + span * 128 + chunk * 16,
                    span * 64 + chunk * 8 < k);
    }
  }
}
// Columns [8t, 8t + 8) of half a span.
template <MatrixForm F>
DEVICE uint4 staged_halves(const unsigned char* stage, int row, int half, int t) {
  if constexpr (F == MatrixForm::E4M7) {
    const auto* const low = reinterpret_cast<const uint2*>(
        stage + HalvesStage::of_four(row, half * 2 + t / 2) + t % 2 * 8);
    const auto* const high =
        reinterpret_cast<const uint32_t*>(stage + HalvesStage::of_two(row, half) + t * 4);
    return e4m7_group(*low, *high);
  } else {
    return *reinterpret_cast<const uint4*>(stage + HalvesStage::of_eight(row, half * 4 + t));
  }
}

template <MatrixForm F>
DEVICE void dot_halves_many(const DotArgs& a) {
  using Stage = HalvesStage;
  SHARED(shared);
  const int thread = thread_index(), lane = lane_index(), warp = warp_index();
  const int g = lane >> 2, t = lane & 3, spans = (a.k + 63) / 64;
  const DotPlace place = dot_place(a, Stage::kColumns, Stage::kRows);
  if (place.is_nothing) return;
  const unsigned char* const rows = place.rows + place.matrix * a.w_batch_bytes;
  const auto row_of_w = [&](int row) {
    return rows + int64_t{min(place.first_column + row, place.n - 1)} * place.row_bytes;
  };
  const int64_t x_bytes = halves_row_bytes(spans);
  const unsigned char* const x = a.rounded + place.x_row * x_bytes;
  const int last_x = a.m - 1 - place.first_row;
  const auto copy_stage = [&](int stage, int span) {
    unsigned char* const to = shared + stage * Stage::kBytes;
    copy_halves<F>(to, row_of_w, span, a.k);
    UNROLL
    for (int i = 0; i < 8; ++i) {
      const int plane = i / 4, row = (thread + 256 * (i % 4)) / 8, chunk = thread % 8;
      copy_later(
          to + Stage::kHigh + plane * (Stage::kLow - Stage::kHigh) + Stage::of_eight(row, chunk),
          x + min(row, last_x) * x_bytes + (plane * spans + span) * 128 + chunk * 16);
    }
    if (thread < Stage::kRows) {
      copy_later<4>(to + Stage::kScales + thread * 4,
                    x + min(thread, last_x) * x_bytes + spans * 256 + span * 4);
    }
  };

  float sums[2][4][4], total[2][4][4];
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
  for_all([&](int tile, int group, int i) { sums[tile][group][i] = total[tile][group][i] = 0; });
  const int first_row = warp % 2 * 32, first_x = warp / 2 * 32;  // of this warp

  const auto is_last = [&](int span) { return span + kHalvesWarps >= spans; };  // of its sum
  const auto next = [&](int span) {
    if (!is_last(span)) return span + kHalvesWarps;
    const int first = span % kHalvesWarps + 1;
    return first < kHalvesWarps ? first : spans;
  };
  int ahead = 0;
  copy_stage(0, ahead);
  end_copy_group();
  for (int step = 0, span = 0; span < spans; span = next(span), ++step) {
    wait_for_copies<0>();
    barrier();  // the stage has arrived, and all threads are done with the one before
    if (ahead < spans) ahead = next(ahead);
    if (ahead < spans) copy_stage((step + 1) % Stage::kStages, ahead);
    end_copy_group();
    const unsigned char* const stage = shared + step % Stage::kStages * Stage::kBytes;
    uint4 w[2][2][2];  // by tile, rows of its halves, half of the span
    UNROLL
    for (int tile = 0; tile < 2; ++tile) {
      UNROLL
      for (int i = 0; i < 4; ++i) {
        w[tile][i / 2][i % 2] =
            staged_halves<F>(stage, first_row + tile * 16 + i / 2 * 8 + g, i % 2, t);
      }
    }
    UNROLL
    for (int group = 0; group < 4; ++group) {
      uint4 high[2], low[2];
      UNROLL
      for (int half = 0; half < 2; ++half) {
        const int at = Stage::of_eight(first_x + group * 8 + g, half * 4 + t);
        high[half] = *reinterpret_cast<const uint4*>(stage + Stage::kHigh + at);
        low[half] = *reinterpret_cast<const uint4*>(stage + Stage::kLow + at);
      }
      const auto* const scales =
          reinterpret_cast<const float*>(stage + Stage::kScales) + first_x + group * 8 + 2 * t;
      UNROLL
      for (int tile = 0; tile < 2; ++tile) {
        float d[4] = {0, 0, 0, 0};
        UNROLL
        for (int half = 0; half < 2; ++half) {
          multiply_eight<F>(d, w[tile][0][half], w[tile][1][half], high[half], low[half]);
        }
        UNROLL
        for (int i = 0; i < 4; ++i) {
          sums[tile][group][i] = fmaf(d[i], scales[i % 2], sums[tile][group][i]);
        }
      }
    }
    if (!is_last(span)) continue;
    for_all([&](int tile, int group, int i) {
      total[tile][group][i] += sums[tile][group][i];
      sums[tile][group][i] = 0;
    });
  }
  wait_for_copies<0>();
  for_all([&](int tile, int group, int i) {
    store_sum<F>(a, place, place.first_row + first_x + group * 8 + 2 * t + i % 2,
                 place.first_column + first_row + tile * 16 + i / 2 * 8 + g, total[tile][group][i]);
  });
}

DEVICE void dot_halves_many_f16_body(const DotArgs& a) {
  dot_halves_many<MatrixForm::F16>(a);
}
DEVICE void dot_halves_many_bf16_body(const DotArgs& a) {
  dot_halves_many<MatrixForm::BF16>(a);
}
DEVICE void dot_halves_many_e4m7_body(const DotArgs& a) {
  dot_halves_many<MatrixForm::E4M7>(a);
}

}  // namespace pippin::cuda
