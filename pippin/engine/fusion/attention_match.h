// Attention written as separate operations: the products, the softmax and the operations between
// them, in any of the ways that packages use.
//
//   scores  = q · kᵀ, as matmul or einsum, in any order of axes
//   scores  = scores * constant, cap * tanh(scores / cap), in any order, or neither
//   scores  = scores + mask, scores - mask, select(allowed, scores, -inf), none or several of them
//             (relative positions, windows), but for those before a tanh before a factor, too
//   weights = softmax of scores along the keys
//   out     = weights · v
//
// with casts and transposes anywhere, reshapes that keep the keys as the last axis, k and v
// repeated for grouped heads by tile or concat. The scores must have no other readers.
#pragma once

#include <optional>

#include "pippin/engine/lowering/attention_step.h"

namespace pippin::engine {

// A parameter without the constant factors that it was multiplied by.
struct Scaled {
  const mil::Binding* value;
  double scale;
};
Scaled unscaled(const mil::Operation& operation, std::string_view parameter);

// A cache before it was repeated for grouped heads: [batch, kv_heads, ...] if `var` is [batch,
// heads, ...], with the last two axes in var's order. Nothing if it was not repeated. The repeated
// copy then has no reader and is dropped.
std::optional<View> ungrouped(Builder& builder, const mil::Var* var);

// Lowers the last product of an attention, or the concat of the heads' own, to one step. Returns
// false, and changes nothing, if it is not an attention.
bool fuse_attention(Builder& builder, const mil::Operation& operation);

}  // namespace pippin::engine
