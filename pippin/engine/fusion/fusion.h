// Fusions: patterns of several operations that one node computes.
//
// A fusion is tried at the last operation of its pattern, the root, before the ordinary rule for
// the root. It looks back through the operations that produced the root's inputs (match.h), emits
// one node that computes the root's result from the pattern's inputs, and defines the result.
//
// The operations in between have been lowered by then. If nothing else reads their results, their
// nodes are dropped with all other dead nodes, otherwise they stay: so a fusion need not check
// other readers, except where computing something twice would be expensive (a product).
//
// Changes that are not patterns of operations are made to the finished list of nodes:
// merge_products().
//
// ComputeOptions::fusion = false disables all of them.
#pragma once

#include <functional>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "pippin/engine/lowering/builder.h"

namespace pippin::engine {

struct Fusion {
  std::string_view name;
  std::set<std::string_view> roots;  // the operation's type is one of them
  // Returns false, with nothing defined, if the operation is not the root of the pattern.
  bool (*fuse)(Builder& builder, const mil::Operation& root);
};

// In the order in which they are tried.
std::span<const Fusion> fusions();

// The first fusion whose pattern ends at the operation, if there is one.
bool fuse(Builder& builder, const mil::Operation& operation);

// x / sqrt(mean(x^2) + epsilon) * gamma.
bool fuse_norm(Builder& builder, const mil::Operation& root);
// The half of a layer norm over [x, -x] that belongs to x, which is the norm above.
bool fuse_doubled_norm(Builder& builder, const mil::Operation& root);
// x * cos + turned(x) * sin.
bool fuse_rotary(Builder& builder, const mil::Operation& root);
// activation(gate) * up.
bool fuse_gate(Builder& builder, const mil::Operation& root);
// silu, gelu and scaled tanh written as their formulas.
bool fuse_activation(Builder& builder, const mil::Operation& root);
// quantize and dequantize as one step.
bool fuse_codes(Builder& builder, const mil::Operation& root);
// A convolution of both with weights of 8 bits, computed with integers.
bool fuse_code_convolution(Builder& builder, const mil::Operation& root);
// The experts of a mixture: the operations between x and the sum are deferred, the sum is one step.
bool fuse_experts(Builder& builder, const mil::Operation& operation);
// x · Wᵀ + (s * (x · Aᵀ)) · Bᵀ.
bool fuse_low_rank(Builder& builder, const mil::Operation& root);
// x · Wᵀ + residual.
bool fuse_residual(Builder& builder, const mil::Operation& root);

// A recurrence over tokens, or the short convolution before one, with the update of its state
// (written as in nn/recurrent/recurrence.h).
bool fuse_recurrence(Builder& builder, const mil::Operation& root);
bool fuse_causal_convolution(Builder& builder, const mil::Operation& root);
// Optional parts of those steps: results + skip * x, and silu of the convolution's result.
bool fuse_skip(Builder& builder, const mil::Operation& root);
bool fuse_convolution_silu(Builder& builder, const mil::Operation& root);

// Products of the same x with several weights become one node. `shares_input`: Target's.
void merge_products(std::vector<Node>& nodes, std::span<const Buffer> buffers,
                    const std::function<bool(const DotNode&, const DotNode&)>& shares_input);

}  // namespace pippin::engine
