#include "pippin/engine/lowering/axes.h"

#include "pippin/base/error.h"
#include "pippin/engine/lowering/rules.h"

namespace pippin::engine {

using mil::Dim;
using mil::Shape;

std::set<int64_t> axes_param(const Builder& builder, const mil::Operation& operation,
                             int64_t rank) {
  std::set<int64_t> axes;
  if (operation.find_input("axes") == nullptr) {
    for (int64_t i = 0; i < rank; ++i) axes.insert(i);
    return axes;
  }
  for (const int64_t axis : ints_param(builder, operation, "axes")) {
    axes.insert(normalize_axis(axis, rank));
  }
  return axes;
}

std::vector<int64_t> axes_last(const std::set<int64_t>& axes, int64_t rank) {
  std::vector<int64_t> perm;
  for (int64_t i = 0; i < rank; ++i) {
    if (!axes.contains(i)) perm.push_back(i);
  }
  perm.insert(perm.end(), axes.begin(), axes.end());
  return perm;
}

std::vector<int64_t> inverse(const std::vector<int64_t>& perm) {
  std::vector<int64_t> result(perm.size());
  for (size_t i = 0; i < perm.size(); ++i) {
    result[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
  }
  return result;
}

Dim axes_product(const Shape& shape, int64_t begin, int64_t end) {
  return mil::num_elements(Shape(shape.begin() + begin, shape.begin() + end));
}

View reshaped(Builder& builder, const View& view, const Shape& shape) {
  const auto result = reshape_view(view, shape);
  return result ? *result : *reshape_view(builder.contiguous(view), shape);
}

View around_axis(Builder& builder, const View& view, int64_t axis) {
  return reshaped(builder, view,
                  {axes_product(view.shape, 0, axis), view.shape[static_cast<size_t>(axis)],
                   axes_product(view.shape, axis + 1, view.rank())});
}

void need_whole_integers(const Builder& builder, const mil::Operation& operation) {
  const mil::DataType type = builder.info(operation.output()).type;
  if (!mil::is_integer(type) || mil::bit_width(type) == 32) return;
  fail(ErrorCode::Unsupported, "{}: elements of type {}", builder.where(operation),
       mil::to_string(type));
}

}  // namespace pippin::engine
