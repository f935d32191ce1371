// Masks that the device makes itself.
#pragma once

#include "pippin/cuda/kernels/blocks.cuh"
#include "pippin/cuda/kernels/masks_args.h"

namespace pippin::cuda {

DEVICE void causal_mask_body(const CausalMaskArgs& a) {
  const float hidden = bits_to_float(0xFF800000u);  // -inf
  const int64_t step = static_cast<int64_t>(gridDim.x) * block_threads();
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * block_threads() + thread_index(); i < a.size;
       i += step) {
    a.y[i] = i % a.keys <= a.past + i / a.keys % a.rows ? 0.0f : hidden;
  }
}

}  // namespace pippin::cuda
