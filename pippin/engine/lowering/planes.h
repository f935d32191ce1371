// For rules over planes (nodes/planes.h): convolutions, pooling and norms by channel.
#pragma once

#include <optional>

#include "pippin/engine/lowering/builder.h"

namespace pippin::engine {

// [N, C, spatial...] with axes of 1 in front of the spatial ones, as steps require.
View as_planes(const View& view);

// A layout is a matter of strides: convolutions read and write values [N, C, spatial...] with
// channels last (docs/decisions/0029-channels-of-a-place-lie-side-by-side.md). Allocates a new
// value with that layout.
View allocate_channels_last(Builder& builder, const mil::Shape& shape);
// The value in that layout, copied if necessary.
View channels_last(Builder& builder, const View& view);
// Smallest number of channels for this layout: fewer leave vectors empty.
constexpr int64_t kLeastChannels = 8;

// The windows of an operation's strides, dilations, pad and pad_type; missing leading axes have one
// window of one element.
Windows windows_of(const Builder& builder, const mil::Operation& operation,
                   const std::vector<int64_t>& kernel);
// Whether the device supports a WindowNode with an x of that shape.
bool fits_windows(const Builder& builder, const Windows& windows, const View& x);

// Applies an operation on `x` in the step that computes x, if nothing else reads x; otherwise
// returns false. Values that are read only for the operation do not count as readers.
bool finish_where_computed(Builder& builder, const mil::Operation& operation, const mil::Var* x,
                           const std::vector<Finish>& finishes);
// The same for x + y, if either is computed so.
bool add_where_computed(Builder& builder, const mil::Operation& operation);

}  // namespace pippin::engine
