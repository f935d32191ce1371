// For rules over planes (nodes/planes.h): convolutions, pooling and norms by channel.
#pragma once

#include <optional>

#include "pippin/engine/lowering/builder.h"

namespace pippin::engine {

// [N, C, spatial...] with axes of 1 in front of the spatial ones, as steps want it.
View as_planes(const View& view);

// A layout is a matter of strides: values [N, C, spatial...] with channels last are what
// convolutions make and take (docs/decisions/0029-channels-of-a-place-lie-side-by-side.md). A new
// value with that layout.
View allocate_channels_last(Builder& builder, const mil::Shape& shape);
// The value in that layout, copied if it must be.
View channels_last(Builder& builder, const View& view);
// Channels that are worth it: fewer leave vectors empty.
constexpr int64_t kLeastChannels = 8;

// The windows of an operation's strides, dilations, pad and pad_type; the axes in front that it
// lacks have one window of one element.
Windows windows_of(const Builder& builder, const mil::Operation& operation,
                   const std::vector<int64_t>& kernel);

// Computes what an operation does to `x` in the step that computes x, where nothing else reads it;
// else false. What reads x for the operation alone does not count.
bool finish_where_computed(Builder& builder, const mil::Operation& operation, const mil::Var* x,
                           const std::vector<Finish>& finishes);
// The same for x + y, where either is computed so.
bool add_where_computed(Builder& builder, const mil::Operation& operation);

}  // namespace pippin::engine
