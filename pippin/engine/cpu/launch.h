// Runs single nodes on operands of known sizes, for callers without a plan: each call makes a step.
#pragma once

#include <span>

#include "pippin/engine/nodes/node.h"
#include "pippin/engine/run/step.h"

namespace pippin::engine {

// `operands` are in the order of the node's views; the first `num_written` are written. Throws
// LimitExceeded if memory is short, and the operation's errors about data.
void launch(NodeKind kind, std::span<const Operand> operands, size_t num_written, ThreadPool& pool);

// The same without a step, for work repeated for every token.
void launch(const AttentionNode& node, std::span<const Operand> operands, ThreadPool& pool);
void launch(const RotaryNode& node, std::span<const Operand> operands, ThreadPool& pool);

}  // namespace pippin::engine
