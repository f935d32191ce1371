#include "pippin/mx/core/shape.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pippin/base/error.h"
#include "pippin/base/numbers/checked.h"

namespace pippin::mx {

std::string to_string(const Shape& shape) {
  if (shape.size() == 1) return fmt::format("({},)", shape[0]);
  return fmt::format("({})", fmt::join(shape.begin(), shape.end(), ","));
}

int64_t num_elements(const Shape& shape) {
  int64_t count = 1;
  bool is_empty = false;
  for (const int64_t size : shape) {
    if (size < 0) {
      fail(ErrorCode::InvalidArgument, "an array of shape {}: {} is not a size", to_string(shape),
           size);
    }
    is_empty = is_empty || size == 0;
    if (size == 0) continue;
    const auto product = checked_mul(count, size);
    if (!product || *product > int64_t{1} << 48) {
      fail(ErrorCode::LimitExceeded, "an array of shape {} has too many elements",
           to_string(shape));
    }
    count = *product;
  }
  return is_empty ? 0 : count;
}

Strides row_major_strides(const Shape& shape) {
  Strides strides(shape.size());
  int64_t step = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = step;
    step *= shape[i];
  }
  return strides;
}

bool is_row_major(const Shape& shape, const Strides& strides) {
  int64_t step = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    if (shape[i] == 0) return true;
    if (shape[i] == 1) continue;
    if (strides[i] != step) {
      return std::any_of(shape.begin(), shape.end(), [](int64_t size) { return size == 0; });
    }
    step *= shape[i];
  }
  return true;
}

Shape broadcast_shapes(std::string_view op, const Shape& a, const Shape& b) {
  const Shape& longer = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  Shape result = longer;
  const size_t ahead = longer.size() - shorter.size();
  for (size_t i = 0; i < shorter.size(); ++i) {
    int64_t& size = result[ahead + i];
    if (size == shorter[i] || shorter[i] == 1) continue;
    if (size != 1) {
      fail(ErrorCode::InvalidArgument, "[{}] Shapes {} and {} cannot be broadcast.", op,
           to_string(a), to_string(b));
    }
    size = shorter[i];
  }
  return result;
}

Strides broadcast_strides(const Shape& shape, const Strides& strides, const Shape& wanted) {
  Strides result(wanted.size(), 0);
  const size_t ahead = wanted.size() - shape.size();
  for (size_t i = 0; i < shape.size(); ++i) {
    result[ahead + i] = shape[i] == 1 && wanted[ahead + i] != 1 ? 0 : strides[i];
  }
  return result;
}

int normal_axis(std::string_view op, int axis, size_t ndim) {
  const int rank = static_cast<int>(ndim);
  if (axis < -rank || axis >= rank) {
    fail(ErrorCode::InvalidArgument,
         "[{}] Axis {} is out of bounds for an array with {} dimensions.", op, axis, ndim);
  }
  return axis < 0 ? axis + rank : axis;
}

std::vector<int> normal_axes(std::string_view op, std::span<const int> axes, size_t ndim) {
  std::vector<int> result;
  result.reserve(axes.size());
  for (const int axis : axes) result.push_back(normal_axis(op, axis, ndim));
  std::sort(result.begin(), result.end());
  const auto twice = std::adjacent_find(result.begin(), result.end());
  if (twice != result.end()) {
    fail(ErrorCode::InvalidArgument, "[{}] Axis {} is given twice.", op, *twice);
  }
  return result;
}

}  // namespace pippin::mx
