// What slices say of shapes.
#pragma once

#include <string_view>
#include <vector>

#include "pippin/mx/array.h"

namespace pippin::mx {

// A slice whose start is inside the array, and how many elements it has on each axis.
struct SliceBounds {
  Shape start, steps, shape;
};
SliceBounds slice_bounds(std::string_view op, const Shape& shape, const Shape& start,
                         const Shape& stop, const Shape& strides);

// For slices that begin where an array says. Throws InvalidArgument for what cannot fit.
void check_dynamic(std::string_view op, const Shape& shape, const array& start,
                   const std::vector<int>& axes, const Shape& slice_size);
// Where such a slice begins, in elements of x's memory: starts are clamped so that it fits.
int64_t dynamic_offset(const Node& x, const Node& start, const std::vector<int>& axes,
                       const Shape& slice_size);

}  // namespace pippin::mx
