// Attention and its masks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "pippin/engine/cache_type.h"

namespace pippin::engine {

// softmax(softcap(scale * q · kᵀ) + mask) · v, or with one more score in each row's softmax: its
// head's sink, which has no value. Query head h reads head h / (heads / kv_heads) of k and v.
//
// views: out, q, k, v[, mask[, summary]][, sinks][, k's scales, v's scales]: the sinks [heads], the
// others [batch, heads, rows, columns], and the summary's numbers last. Scales belong to a
// quantized cache, where k and v have the bytes of codes as columns.
struct AttentionNode {
  double scale = 1;
  bool over_root = false;  // scale is divided by the square root of head_dim
  double softcap = 0;      // none
  bool is_masked = false, has_summary = false, has_sinks = false;
  CacheType cache = CacheType::F16;  // F16: k and v are plain
  int64_t k_group = 0, v_group = 0;  // values per scale

  static constexpr size_t kMask = 4;  // among the views
};

// Writes rows of a quantized cache (kernels/attention/cache_codes.h). views: codes [.., bytes],
// scales [.., groups], x [.., values] of floats, with the same axes before the last.
struct StoreCacheNode {
  CacheType cache = CacheType::Q8;
};

// Multiplies rows with Hadamard matrices (kernels::rotate_row()). views: y, x of floats [..,
// columns] of one shape, whose elements may be those of y.
struct HadamardNode {};

// The mask's smallest and largest entries by chunks of keys. views: summary [batch, heads, rows,
// chunks, 2], mask [batch, heads, rows, keys].
struct MaskSummaryNode {};

// 0 where a bool is true, elsewhere -inf. views: mask of fp32, allowed of bools, without gaps.
struct AllowedNode {};

}  // namespace pippin::engine
