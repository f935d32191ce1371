// The work of nodes on operands whose sizes are numbers, for callers that have no plan: a step is
// made for the call.
#pragma once

#include <span>

#include "pippin/engine/nodes/node.h"
#include "pippin/engine/run/step.h"

namespace pippin::engine {

// `operands` are those of the node's views, the `num_written` that it writes first. Throws as
// Execution::run().
void launch(NodeKind kind, std::span<const Operand> operands, size_t num_written, ThreadPool& pool);

// The same without a step, for work that is repeated for every token.
void launch(const AttentionNode& node, std::span<const Operand> operands, ThreadPool& pool);

}  // namespace pippin::engine
