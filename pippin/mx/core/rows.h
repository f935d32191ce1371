// The rows of an array along one axis, processed separately.
#pragma once

#include <algorithm>
#include <cstdint>

#include "pippin/mx/core/nest.h"
#include "pippin/mx/core/node.h"

namespace pippin::mx {

inline Shape without_axis(const Shape& sizes, size_t axis) {
  Shape result = sizes;
  result.erase(result.begin() + axis);
  return result;
}

// Calls body(x offset, y offset), in elements, for every row; distributes rows over threads. `cost`
// is the work per row. x and y have the same sizes except along the axis.
template <typename Body>
void each_row(const Node& x, const Node& y, size_t axis, int64_t cost, const Body& body) {
  const Shape shape = without_axis(y.shape, axis);
  const Strides from = without_axis(x.strides, axis), to = without_axis(y.strides, axis);
  const Nest<2> nest(shape, {&from, &to});
  const auto steps = nest.steps();
  nest.all(std::max<int64_t>(1, cost), [&](const Nest<2>::Offsets& at, int64_t count) {
    for (int64_t i = 0; i < count; ++i) body(at[0] + i * steps[0], at[1] + i * steps[1]);
  });
}

}  // namespace pippin::mx
