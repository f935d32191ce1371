// The choice of a token.
#pragma once

#include "pippin/cuda/kernels/blocks.cuh"
#include "pippin/cuda/kernels/choice_args.h"

namespace pippin::cuda {

DEVICE LargestPart larger_of(const LargestPart& a, const LargestPart& b) {
  const bool is_b = b.index >= 0 &&
                    (a.index < 0 || b.value > a.value || (b.value == a.value && b.index < a.index));
  return {is_b ? b.value : a.value, is_b ? b.index : a.index, a.flags | b.flags};
}

// The largest of the block's threads, in thread 0. `shared` has an entry for each warp.
DEVICE LargestPart largest_of_block(LargestPart mine, LargestPart* shared) {
  for (int mask = 16; mask > 0; mask >>= 1) {
    const LargestPart other = {across_lanes(mine.value, mask), across_lanes(mine.index, mask),
                               across_lanes(mine.flags, mask)};
    mine = larger_of(mine, other);
  }
  if (lane_index() == 0) shared[warp_index()] = mine;
  barrier();
  if (thread_index() == 0) {
    for (int i = 1; i < block_threads() / 32; ++i) mine = larger_of(mine, shared[i]);
  }
  return mine;
}

DEVICE void largest_parts_body(const LargestPartsArgs& a) {
  SHARED(shared);
  const int64_t begin = static_cast<int64_t>(blockIdx.x) * a.part;
  const int64_t end = min(begin + a.part, a.count);
  LargestPart mine = {0, -1, 0};
  for (int64_t i = begin + thread_index(); i < end; i += block_threads()) {
    const float x = a.x[i];
    const bool is_finite = x - x == 0;
    mine.flags |= x != x ? kHasNan : is_finite ? kHasFinite : 0;
    if (x == x) mine = larger_of(mine, {x, static_cast<int32_t>(i), 0});
  }
  mine = largest_of_block(mine, reinterpret_cast<LargestPart*>(shared));
  if (thread_index() == 0) a.parts[blockIdx.x] = mine;
}

DEVICE void largest_body(const LargestArgs& a) {
  SHARED(shared);
  LargestPart mine = {0, -1, 0};
  for (int64_t i = thread_index(); i < a.count; i += block_threads()) {
    mine = larger_of(mine, a.parts[i]);
  }
  mine = largest_of_block(mine, reinterpret_cast<LargestPart*>(shared));
  if (thread_index() == 0) *a.result = mine.flags == kHasFinite ? mine.index : -1;
}

}  // namespace pippin::cuda
