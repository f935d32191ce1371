// Products of many rows in fp32, with the sums of dot_fma.cuh: 128 rows of W by 64 of x in a block,
// 8 by 4 in a thread. A sum of groups g = i (mod 32) is finished before the next one begins, so
// that a thread keeps one of them and the total.
#pragma once

#include "pippin/cuda/kernels/dot_fma.cuh"

namespace pippin::cuda {

constexpr int kFmaManyColumns = 128, kFmaManyRows = 64;

// In shared memory, of two groups in turn: [8][128] of W, [8][64] of x.
constexpr int kFmaManyFloats = 8 * (kFmaManyColumns + kFmaManyRows);

template <MatrixForm F>
DEVICE void dot_fma_many(const DotArgs& a) {
  SHARED(shared);
  auto* const tiles = reinterpret_cast<float*>(shared);
  const int thread = thread_index(), groups = (a.k + 7) / 8;
  const DotPlace place = dot_place(a, kFmaManyColumns, kFmaManyRows);
  if (place.is_nothing) return;
  // Threads 0 to 127 load rows of W, the next 64 rows of x.
  const bool loads_w = thread < kFmaManyColumns;
  const bool loads_x = !loads_w && thread < kFmaManyColumns + kFmaManyRows;
  const int64_t j = min(place.first_column + thread % kFmaManyColumns, place.n - 1);
  const WeightRow<F> w(place.rows + place.matrix * a.w_batch_bytes, place.row_bytes, place.scales,
                       place.shifts, a.numbers, j, place.matrix * place.n + j, a.k,
                       a.has_aligned_rows, a.is_computed);
  const float* const x = a.x + place.batch * a.x_batch +
                         min(place.first_row + thread % kFmaManyRows, a.m - 1) * a.x_stride;
  // Eight rows of W and four of x.
  const int column = thread / 16 * 8, row = thread % 16 * 4;

  float sums[8][4], total[8][4];
  UNROLL
  for (int r = 0; r < 8; ++r) {
    UNROLL
    for (int i = 0; i < 4; ++i) sums[r][i] = total[r][i] = 0;
  }
  RawEight raw{};
  Eight loaded{};
  const auto load = [&](int group) {
    if (loads_w) raw = w.load(group, a.numbers);
    if (loads_x) loaded = load_eight(x, group, a.k, a.has_aligned_x);
  };
  if (groups > 0) load(0);
  for (int step = 0, group = 0; group < groups; ++step) {
    float* const tile = tiles + step % 2 * kFmaManyFloats;
    float* const tile_x = tile + 8 * kFmaManyColumns;
    if (loads_w) loaded = w.values(raw);
    UNROLL
    for (int b = 0; b < 8; ++b) {
      if (loads_w) tile[b * kFmaManyColumns + thread] = loaded.v[b];
      if (loads_x) tile_x[b * kFmaManyRows + thread - kFmaManyColumns] = loaded.v[b];
    }
    // This tile is written again only after the next barrier.
    barrier();
    const bool is_last = group + 32 >= groups;
    group = !is_last ? group + 32 : group % 32 + 1 < 32 ? group % 32 + 1 : groups;
    if (group < groups) load(group);
    UNROLL
    for (int b = 0; b < 8; ++b) {
      const auto* const from = reinterpret_cast<const float4*>(tile + b * kFmaManyColumns + column);
      const float4 low = from[0], high = from[1];
      const float4 e = *reinterpret_cast<const float4*>(tile_x + b * kFmaManyRows + row);
      const float left[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
      const float right[4] = {e.x, e.y, e.z, e.w};
      UNROLL
      for (int r = 0; r < 8; ++r) {
        UNROLL
        for (int i = 0; i < 4; ++i) sums[r][i] = fmaf(left[r], right[i], sums[r][i]);
      }
    }
    if (!is_last) continue;
    UNROLL
    for (int r = 0; r < 8; ++r) {
      UNROLL
      for (int i = 0; i < 4; ++i) {
        total[r][i] += sums[r][i];
        sums[r][i] = 0;
      }
    }
  }
  UNROLL
  for (int i = 0; i < 4; ++i) {
    UNROLL
    for (int r = 0; r < 8; ++r) {
      store_sum<F>(a, place, place.first_row + row + i, place.first_column + column + r,
                   total[r][i]);
    }
  }
}

#define PIPPIN_DOT_FMA_MANY(name, form)                  \
  DEVICE void dot_##name##_many_body(const DotArgs& a) { \
    dot_fma_many<MatrixForm::form>(a);                   \
  }
PIPPIN_DOT_FMA_MANY(f32, F32)
PIPPIN_DOT_FMA_MANY(f16, F16)
PIPPIN_DOT_FMA_MANY(bf16, BF16)
PIPPIN_DOT_FMA_MANY(int4, Int4)
PIPPIN_DOT_FMA_MANY(int8, Int8)
PIPPIN_DOT_FMA_MANY(palette4, Palette4)
PIPPIN_DOT_FMA_MANY(palette8, Palette8)
PIPPIN_DOT_FMA_MANY(e4m7, E4M7)
#undef PIPPIN_DOT_FMA_MANY

}  // namespace pippin::cuda
