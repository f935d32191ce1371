// Operations without a kernel: run by their value rule, slowly.
#pragma once

#include "pippin/engine/lowering/builder.h"

namespace pippin::engine {

// Lowers the operation to a step that runs its value rule, and reports it in the log. Throws
// Unsupported if that is not possible either: nested blocks, states, results whose size depends on
// data, unknown ops.
void lower_to_reference(Builder& builder, const mil::Operation& operation);

}  // namespace pippin::engine
