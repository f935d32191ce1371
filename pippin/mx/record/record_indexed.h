// Gathers and scatters of slices by index arrays, written as MIL operations.
#pragma once

#include <vector>

#include "pippin/mx/core/index.h"
#include "pippin/mx/record/recorder.h"

namespace pippin::mx {

// Inputs of `out`: x, index arrays for these axes. Slices must have one element on each of the axes
// and all elements of the others; anything else is Unsupported.
void record_gather(Recorder& recorder, const Node& out, const std::vector<int>& axes,
                   const Shape& slice_sizes);
// Inputs of `out`: x, updates, index arrays. The same restriction applies.
void record_scatter(Recorder& recorder, const Node& out, const std::vector<int>& axes,
                    UpdateMode mode);
// Inputs of `out`: x, indices, values.
void record_scatter_axis(Recorder& recorder, const Node& out, size_t axis, UpdateMode mode);

// Combines old elements with updates.
Recorder::Value combined(UpdateMode mode, const Recorder::Value& old, const Recorder::Value& more);

}  // namespace pippin::mx
