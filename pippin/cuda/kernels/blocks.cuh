// Sums and maxima over the threads of a block.
#pragma once

#include "pippin/cuda/kernels/machine.h"

namespace pippin::cuda {

DEVICE int thread_index() {
  return static_cast<int>(threadIdx.x);
}
DEVICE int lane_index() {
  return thread_index() & 31;
}
DEVICE int warp_index() {
  return thread_index() >> 5;
}
DEVICE int block_threads() {
  return static_cast<int>(blockDim.x);
}

// The sum in all threads, always in the same order. `shared` has 32 numbers, which may be used
// again after the next barrier.
DEVICE float block_sum(float v, float* shared) {
  v = warp_sum(v);
  if (lane_index() == 0) shared[warp_index()] = v;
  barrier();
  float sum = 0;
  for (int i = 0; i < block_threads() / 32; ++i) sum += shared[i];
  return sum;
}
DEVICE float block_max(float v, float* shared) {
  v = warp_max(v);
  if (lane_index() == 0) shared[warp_index()] = v;
  barrier();
  float most = shared[0];
  for (int i = 1; i < block_threads() / 32; ++i) {
    const float other = shared[i];
    most = other > most || other != other ? other : most;
  }
  return most;
}
// As block_max(), but ignores NaN.
DEVICE float warp_largest(float v) {
  for (int mask = 16; mask > 0; mask >>= 1) v = fmaxf(v, across_lanes(v, mask));
  return v;
}
DEVICE float block_largest(float v, float* shared) {
  v = warp_largest(v);
  if (lane_index() == 0) shared[warp_index()] = v;
  barrier();
  float most = shared[0];
  for (int i = 1; i < block_threads() / 32; ++i) most = fmaxf(most, shared[i]);
  return most;
}
DEVICE bool block_any(bool v, float* shared) {
  return block_largest(v ? 1.0f : 0.0f, shared) > 0;
}

// The sum in all threads.
DEVICE int block_count(int v, int* shared) {
  v = warp_sum(v);
  if (lane_index() == 0) shared[warp_index()] = v;
  barrier();
  int sum = 0;
  for (int i = 0; i < block_threads() / 32; ++i) sum += shared[i];
  barrier();
  return sum;
}

// The number of threads with `is_one`: of those before this one, and of all.
struct Counted {
  int before, all;
};
DEVICE Counted count_before(bool is_one, int* shared) {
  int sum = is_one ? 1 : 0;
  for (int step = 1; step < 32; step <<= 1) {
    const int other = from_lane(sum, lane_index() - step);
    if (lane_index() >= step) sum += other;
  }
  if (lane_index() == 31) shared[warp_index()] = sum;
  barrier();
  Counted counted{sum - (is_one ? 1 : 0), 0};
  for (int i = 0; i < block_threads() / 32; ++i) {
    if (i < warp_index()) counted.before += shared[i];
    counted.all += shared[i];
  }
  barrier();
  return counted;
}

}  // namespace pippin::cuda
