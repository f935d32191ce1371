// A state that each pass replaces: read, and written in place by the step that computes with it.
#pragma once

#include <optional>

#include "pippin/engine/lowering/builder.h"

namespace pippin::engine {

// The place in a state where a slice_update writes, if that is the place that `before` was read
// from, and nothing wrote there since. The update counts as done then: the caller's step has to do
// it. Otherwise nothing, and nothing has changed.
std::optional<View> replace_carried(Builder& builder, const mil::Operation& slice_update,
                                    const mil::Var* before);

}  // namespace pippin::engine
