// The axes that an operation works along.
#pragma once

#include <string_view>
#include <vector>

#include "pippin/mx/ops/reduce.h"

namespace pippin::mx {

// Returns the axes counted from the start, sorted; all if none are chosen. Throws as normal_axes().
std::vector<int> chosen_axes(std::string_view op, const Axes& axes, const array& a);
// The shape without sorted axes, or with 1 in their places.
Shape reduced_shape(const Shape& shape, const std::vector<int>& axes, bool keepdims);

// An array with some of its axes last, merged into one.
struct LastAxis {
  array x;
  Shape shape;            // before the axes were merged
  std::vector<int> back;  // the transpose to the original order
};
LastAxis to_last(const array& a, const std::vector<int>& axes);

// The elements [begin, end) of an axis.
array slice_axis(const array& a, int axis, int64_t begin, int64_t end);

}  // namespace pippin::mx
