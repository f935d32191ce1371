// The bounds and shapes of slices.
#pragma once

#include <string_view>
#include <vector>

#include "pippin/mx/core/array.h"

namespace pippin::mx {

// A slice whose start is inside the array, and its number of elements on each axis.
struct SliceBounds {
  Shape start, steps, shape;
};
SliceBounds slice_bounds(std::string_view op, const Shape& shape, const Shape& start,
                         const Shape& stop, const Shape& strides);

// For slices whose start is an array. Throws InvalidArgument if the slice cannot fit.
void check_dynamic(std::string_view op, const Shape& shape, const array& start,
                   const std::vector<int>& axes, const Shape& slice_size);
// The offset of such a slice in x's memory, in elements: starts are clamped to fit.
int64_t dynamic_offset(const Node& x, const Node& start, const std::vector<int>& axes,
                       const Shape& slice_size);

}  // namespace pippin::mx
