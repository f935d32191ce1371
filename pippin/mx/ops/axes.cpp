#include "pippin/mx/ops/axes.h"

#include <algorithm>
#include <numeric>

#include "pippin/mx/ops/shape_ops.h"

namespace pippin::mx {

std::vector<int> chosen_axes(std::string_view op, const Axes& axes, const array& a) {
  if (axes) return normal_axes(op, *axes, a.ndim());
  std::vector<int> all(a.ndim());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

Shape reduced_shape(const Shape& shape, const std::vector<int>& axes, bool keepdims) {
  Shape result;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (!std::binary_search(axes.begin(), axes.end(), static_cast<int>(i))) {
      result.push_back(shape[i]);
    } else if (keepdims) {
      result.push_back(1);
    }
  }
  return result;
}

LastAxis to_last(const array& a, const std::vector<int>& axes) {
  std::vector<int> order = chosen_axes("transpose", std::nullopt, a), back = order;
  std::stable_partition(order.begin(), order.end(), [&](int axis) {
    return !std::binary_search(axes.begin(), axes.end(), axis);
  });
  for (size_t i = 0; i < order.size(); ++i)
    back[static_cast<size_t>(order[i])] = static_cast<int>(i);
  const array turned = transpose(a, order);
  Shape merged = reduced_shape(a.shape(), axes, false);
  merged.push_back(-1);
  return {axes.size() == 1 ? turned : reshape(turned, merged), turned.shape(), back};
}

array slice_axis(const array& a, int axis, int64_t begin, int64_t end) {
  Shape start(a.ndim(), 0);
  Shape stop = a.shape();
  start[static_cast<size_t>(axis)] = begin;
  stop[static_cast<size_t>(axis)] = end;
  return slice(a, start, stop);
}

}  // namespace pippin::mx
