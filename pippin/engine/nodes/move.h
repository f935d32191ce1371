// Elements moved, converted, written or picked by place.
#pragma once

namespace pippin::engine {

// views: y, x of one shape, any strides; converts between storages.
struct CopyNode {};

// Writes the scalars as the elements of y, which has no gaps.
struct DimsNode {};

}  // namespace pippin::engine
