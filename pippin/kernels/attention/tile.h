// Helpers shared by few.h and many.h: a tile's queries, its masks, and the visible keys of a chunk.
#pragma once

#include "pippin/kernels/attention/args.h"
#include "pippin/kernels/attention/sizes.h"

namespace pippin::kernels {
namespace {

// A number as a type.
template <int kCount>
struct Count {
  static constexpr int value = kCount;
};

struct KeyRange {
  int64_t begin, end;
};

// The queries of a task, row by row and, within a row, head by head.
template <int64_t kMost>
struct Queries {
  int64_t count = 0;
  const float* q[kMost];
  float* out[kMost];
  const float* mask[kMost];
  // The masks and their summaries, omitting those equal to the previous one.
  int64_t masks = 0;
  const float* unique_mask[kMost];
  const float* summary[kMost];

  Queries(const AttentionArgs& a, const AttentionTask& task) {
    for (int64_t r = task.row; r < task.row + task.rows; ++r) {
      for (int64_t h = task.head; h < task.head + task.heads; ++h) {
        q[count] = a.q + h * a.q_head_stride + r * a.q_row_stride;
        out[count] = a.out + h * a.out_head_stride + r * a.out_row_stride;
        mask[count] = nullptr;
        if (a.mask != nullptr) {
          mask[count] = a.mask + h * a.mask_head_stride + r * a.mask_row_stride;
          if (masks == 0 || unique_mask[masks - 1] != mask[count]) {
            unique_mask[masks] = mask[count];
            summary[masks++] = a.summary + h * a.summary_head_stride + r * a.summary_row_stride;
          }
        }
        ++count;
      }
    }
  }
};

// The state of a softmax that has seen only the sinks: largest scores and sums of `count` queries.
template <int64_t kMost>
void begin_with_sinks(const AttentionArgs& a, const AttentionTask& task,
                      const Queries<kMost>& queries, float* largest, float* sums) {
  if (a.sinks == nullptr) return;
  for (int64_t i = 0; i < queries.count; ++i) {
    largest[i] = a.sinks[task.head + i % task.heads];
    sums[i] = 1;
  }
}

// The effect of a tile's masks on a chunk.
enum class Sight { None, All, Part };

template <int64_t kMost>
Sight sight(const Queries<kMost>& queries, int64_t chunk) {
  if (queries.masks == 0) return Sight::All;
  bool none = true, all = true;
  for (int64_t i = 0; i < queries.masks; ++i) {
    const float low = queries.summary[i][2 * chunk], high = queries.summary[i][2 * chunk + 1];
    none = none && high == -__builtin_inff();
    all = all && low == 0 && high == 0;
  }
  return none ? Sight::None : all ? Sight::All : Sight::Part;
}

// Whether the pointers are `step` elements apart.
template <typename T>
bool evenly_spaced(T* const* pointers, int64_t count, int64_t step) {
  for (int64_t i = 1; i < count; ++i) {
    if (pointers[i] - pointers[i - 1] != step) return false;
  }
  return true;
}

// The range from the first to the last key, within `keys`, that may be visible through one of the
// masks.
KeyRange visible(const AttentionArgs& a, const float* const* masks, int64_t count, KeyRange keys) {
  const F excluded = set(-__builtin_inff());
  const int64_t stride = a.mask_key_stride;
  const bool side_by_side = evenly_spaced(masks, count, 1);
  const auto seen = [&](int64_t key) {
    if (side_by_side) {  // the masks of a key are contiguous
      const float* of_key = masks[0] + key * stride;
      int64_t i = 0;
      for (; i + kLanes <= count; i += kLanes) {
        if (any(~(load(of_key + i) == excluded))) return true;
      }
      for (; i < count; ++i) {
        if (of_key[i] != -__builtin_inff()) return true;
      }
      return false;
    }
    // In a causal mask, the last rows see most.
    for (int64_t i = count; i-- > 0;) {
      if (masks[i][key * stride] != -__builtin_inff()) return true;
    }
    return false;
  };
  const auto any_seen = [&](int64_t key) {
    for (int64_t i = count; i-- > 0;) {
      if (any(~(load(masks[i] + key) == excluded))) return true;
    }
    return false;
  };
  if (stride == 1) {
    while (keys.begin + kLanes <= keys.end && !any_seen(keys.begin)) keys.begin += kLanes;
    while (keys.begin + kLanes <= keys.end && !any_seen(keys.end - kLanes)) keys.end -= kLanes;
  }
  while (keys.begin < keys.end && !seen(keys.begin)) ++keys.begin;
  while (keys.begin < keys.end && !seen(keys.end - 1)) --keys.end;
  return keys;
}

PIPPIN_VEC KeyRange chunk_keys(const AttentionArgs& a, int64_t chunk) {
  const int64_t begin = chunk * kChunk;
  return {begin, begin + kChunk < a.keys ? begin + kChunk : a.keys};
}

// The reference point for exponentials: the largest score, or 0 while nothing counts, so that every
// exponential is 0 rather than exp(-inf + inf).
PIPPIN_VEC F shift_of(F largest) {
  return select(largest == set(-__builtin_inff()), set(0), largest);
}

PIPPIN_VEC F capped(F score, float cap) {
  return tanh(score / set(cap)) * set(cap);
}

}  // namespace
}  // namespace pippin::kernels
