// A row of x that is rounded for products, after an RMS norm if there is one.
#pragma once

#include "pippin/cuda/kernels/blocks.cuh"

namespace pippin::cuda {

// Columns [first, first + 4) of a row, zeros behind its end.
DEVICE void load_four(float (&v)[4], const float* x, int first, int k, bool is_aligned) {
  if (is_aligned && first < k) {
    const float4 four = *reinterpret_cast<const float4*>(x + first);
    v[0] = four.x, v[1] = four.y, v[2] = four.z, v[3] = four.w;
    return;
  }
  UNROLL
  for (int i = 0; i < 4; ++i) v[i] = first + i < k ? x[first + i] : 0.0f;
}

struct NormedRow {
  const float* x;
  const float* gamma;  // of the norm, or null
  int k;
  float epsilon;
  bool is_aligned, has_norm;

  // Columns [first, first + 4), zeros behind the row's end.
  DEVICE void load(float (&v)[4], int first, float factor) const {
    load_four(v, x, first, k, is_aligned);
    if (!has_norm) return;
    UNROLL
    for (int i = 0; i < 4; ++i) {
      const bool has_gamma = gamma != nullptr && first + i < k;
      v[i] = v[i] * factor * (has_gamma ? gamma[first + i] : 1.0f);
    }
  }
  // The factor of the norm, added up in the order of rms_norm: by a warp for up to 512 columns,
  // else by a thread for each four columns of up to 4,096. `exchange` has 32 numbers. All threads
  // of the block must come; 0 without a norm.
  DEVICE float factor(float* exchange) const {
    if (!has_norm) return 0;
    const int groups = (k + 3) / 4;
    const int team = k <= 512 ? 32 : min((k + 127) / 128, 32) * 32;
    for (int member = thread_index(); member < team; member += block_threads()) {
      float sum = 0;
      for (int group = member; group < groups; group += team) {
        float v[4];
        load_four(v, x, 4 * group, k, is_aligned);
        UNROLL
        for (int i = 0; i < 4; ++i) sum = fmaf(v[i], v[i], sum);
      }
      sum = warp_sum(sum);
      if (lane_index() == 0) exchange[member / 32] = sum;
    }
    barrier();
    float sum = exchange[0];
    for (int i = 1; i < team / 32; ++i) sum += exchange[i];
    return 1 / sqrtf(sum / static_cast<float>(k) + epsilon);
  }
};

}  // namespace pippin::cuda
