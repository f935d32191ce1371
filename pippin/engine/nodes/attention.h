// Attention and its masks.
#pragma once

#include <cstddef>

namespace pippin::engine {

// softmax(softcap(scale * q · kᵀ) + mask) · v, or with one more score in each row's softmax: its
// head's sink, which has no value. Query head h reads head h / (heads / kv_heads) of k and v.
//
// views: out, q, k, v[, mask[, summary]][, sinks]: the sinks [heads], the others [batch, heads,
// rows, columns], and the summary's numbers last.
struct AttentionNode {
  double scale = 1;
  bool over_root = false;  // scale is divided by the square root of head_dim
  double softcap = 0;      // none
  bool is_masked = false, has_summary = false, has_sinks = false;

  static constexpr size_t kMask = 4;  // among the views
};

// The mask's smallest and largest entries by chunks of keys. views: summary [batch, heads, rows,
// chunks, 2], mask [batch, heads, rows, keys].
struct MaskSummaryNode {};

// 0 where a bool is true, elsewhere -inf. views: mask of fp32, allowed of bools, without gaps.
struct AllowedNode {};

}  // namespace pippin::engine
