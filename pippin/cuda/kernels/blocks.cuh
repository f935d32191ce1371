// What the threads of a block find together.
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

}  // namespace pippin::cuda
