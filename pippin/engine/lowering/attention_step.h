// Attention as one step of a plan, however the program writes it.
#pragma once

#include <optional>

#include "pippin/engine/lowering/builder.h"

namespace pippin::engine {

// softmax(softcap(scale * q · kᵀ) + mask) · v, or with one more score in each row's softmax: its
// head's sink, which has no value. Query head h reads head h / (heads / kv_heads) of k and v. Any
// strides; k and v of the same storage, F32 or F16.
struct AttentionViews {
  View q;                     // [batch, heads, rows, head_dim]
  View k;                     // [batch, kv_heads, keys, head_dim]
  View v;                     // [batch, kv_heads, keys, value_dim]
  std::optional<View> mask;   // added to the scores; broadcasts to [batch, heads, rows, keys]
  std::optional<View> sinks;  // [heads]
  double scale = 1;
  bool over_root = false;  // scale is divided by the square root of head_dim
  double softcap = 0;      // 0: no cap
};

// 0 where a bool is true, elsewhere -inf.
View additive_mask(Builder& builder, const View& allowed);

// Emits the step; the result is [batch, heads, rows, value_dim]. Rows come before heads in memory:
// merging the heads of a row is then a view.
View emit_attention(Builder& builder, const AttentionViews& attention);

}  // namespace pippin::engine
