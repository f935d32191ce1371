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

// Ordered as the numbers are.
DEVICE uint32_t rank_of(float x) {
  const uint32_t bits = float_to_bits(x);
  if (x != x) return 0xffffffffu;
  return bits >> 31 != 0 ? ~bits : bits | 0x80000000u;
}

DEVICE void rank_body(const RankArgs& a) {
  SHARED(shared);
  const int64_t first = static_cast<int64_t>(blockIdx.x) * a.part;
  const int count = static_cast<int>(min(a.part, a.count - first));
  const auto load = [&](int i) -> RankedNumber {
    if (a.x == nullptr) return a.from[first + i];
    return {a.x[first + i], static_cast<int32_t>(first + i)};
  };
  const auto count_if = [&](const auto& is_one) {
    int mine = 0;
    for (int i = thread_index(); i < count; i += block_threads()) {
      mine += is_one(rank_of(load(i).value)) ? 1 : 0;
    }
    return block_count(mine, reinterpret_cast<int*>(shared));
  };
  // The largest rank that kMostRanked elements reach, bit by bit.
  const int wanted = min(kMostRanked, count);
  uint32_t least = 0;
  for (uint32_t bit = 0x80000000u; bit != 0; bit >>= 1) {
    const uint32_t next = least | bit;
    if (count_if([&](uint32_t rank) { return rank >= next; }) >= wanted) least = next;
  }
  // Those above it, and the first of those that have it.
  int equals = wanted - count_if([&](uint32_t rank) { return rank > least; }), written = 0;
  RankedNumber* const to = a.to + static_cast<int64_t>(blockIdx.x) * kMostRanked;
  for (int begin = 0; begin < count; begin += block_threads()) {
    const int i = begin + thread_index();
    const RankedNumber number = i < count ? load(i) : RankedNumber{0, 0};
    const uint32_t rank = rank_of(number.value);
    const bool is_equal = i < count && rank == least;
    const Counted equal = count_before(is_equal, reinterpret_cast<int*>(shared));
    const bool is_taken = i < count && (rank > least || (is_equal && equal.before < equals));
    const Counted taken = count_before(is_taken, reinterpret_cast<int*>(shared));
    if (is_taken) to[written + taken.before] = number;
    equals = max(equals - equal.all, 0);
    written += taken.all;
  }
}

}  // namespace pippin::cuda
