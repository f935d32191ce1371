// Kernels on rows.
#pragma once

#include "pippin/cuda/kernels/blocks.cuh"
#include "pippin/cuda/kernels/rows_args.h"

namespace pippin::cuda {

// x / sqrt(mean(x^2) + epsilon) * gamma
DEVICE void rms_norm_body(const NormArgs& a) {
  SHARED(shared);
  const int64_t row = blockIdx.x;
  const float* x = a.x + row * a.x_stride;
  float* y = a.y + row * a.y_stride;
  float sum = 0;
  for (int64_t i = thread_index(); i < a.columns; i += block_threads()) sum += x[i] * x[i];
  sum = block_sum(sum, reinterpret_cast<float*>(shared));
  const float factor = 1 / sqrtf(sum / static_cast<float>(a.columns) + a.epsilon);
  for (int64_t i = thread_index(); i < a.columns; i += block_threads()) {
    y[i] = x[i] * factor * (a.gamma != nullptr ? a.gamma[i] : 1.0f);
  }
}

}  // namespace pippin::cuda
