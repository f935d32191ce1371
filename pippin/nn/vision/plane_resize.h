// Planes (batch, channels, height, width) in other sizes.
#pragma once

#include <cstdint>

#include "pippin/array/array.h"
#include "pippin/nn/vision/grid_resize.h"

namespace pippin::nn {

// Planes linearly interpolated: the corners of both coincide, or their edges, as PyTorch's
// align_corners has it. Planes of that size are returned as they are.
array::Array resize_planes(const array::Array& planes, Grid size, bool align_corners);
// Channels (batch, channels * factor², height, width) become places of planes `factor` times as
// high and wide.
array::Array spread_channels(const array::Array& planes, int64_t factor);

}  // namespace pippin::nn
