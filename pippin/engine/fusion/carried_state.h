// A state that each pass replaces: read, and written in place by the step that computes with it.
#pragma once

#include <optional>

#include "pippin/engine/lowering/builder.h"

namespace pippin::engine {

// The place in a state that a slice_update writes, if `before` was read from the same place, and
// nothing wrote there since. The update then counts as done: the caller's step has to do it.
// Otherwise nothing, without any change.
std::optional<View> replace_carried(Builder& builder, const mil::Operation& slice_update,
                                    const mil::Var* before);

}  // namespace pippin::engine
