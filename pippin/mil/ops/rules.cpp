#include "pippin/mil/ops/rules.h"

#include <algorithm>

#include <fmt/ranges.h>

namespace pippin::mil {

std::vector<OpDef> with_traits(std::initializer_list<Trait> traits, std::vector<OpDef> ops) {
  for (OpDef& op : ops) {
    for (const Trait trait : traits) op.traits.add(trait);
  }
  return ops;
}

bool may_have_elements(const ValueInfo& info) {
  return info.kind == ValueType::Kind::Tensor &&
         (is_integer(info.type) || info.type == DataType::Bool);
}

ValueInfo value_info(const Value& value) {
  ValueInfo info;
  info.kind = value.type.kind;
  info.constant = &value;
  if (value.type.kind == ValueType::Kind::List && value.type.parameters.at(0).is_tensor()) {
    info.type = value.type.parameters[0].data_type;
    info.shape = to_shape(value.type.parameters[0].dims);
    info.length = Dim(static_cast<int64_t>(value.elements.size()));
  }
  if (!value.type.is_tensor()) return info;
  info.type = value.type.data_type;
  info.shape = to_shape(value.type.dims);
  const bool absent = value.blob.has_value() && value.source == nullptr;
  if (may_have_elements(info) && !absent && value.type.num_elements() <= kMaxElements) {
    const std::vector<int64_t> integers = value.to_ints();
    info.elements.emplace(integers.begin(), integers.end());
  }
  return info;
}

Infos infer_like_x(InferContext& context) {
  const ValueInfo& x = context.input("x");
  return one(tensor_info(x.type, x.shape));
}

int64_t normalize_axis(const OpContext& context, int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank) {
    context.reject("axis {} is out of range for rank {}", axis, rank);
  }
  return axis < 0 ? axis + rank : axis;
}

Dims normalize_axes(const OpContext& context, const Dims& axes, int64_t rank) {
  Dims result;
  for (const int64_t axis : axes) result.push_back(normalize_axis(context, axis, rank));
  std::sort(result.begin(), result.end());
  if (std::adjacent_find(result.begin(), result.end()) != result.end()) {
    context.reject("axes {} name an axis twice", axes);
  }
  return result;
}

Dims axes_or_all(const OpContext& context, std::string_view parameter, int64_t rank) {
  if (context.has(parameter)) return normalize_axes(context, context.ints_param(parameter), rank);
  Dims all;
  for (int64_t axis = 0; axis < rank; ++axis) all.push_back(axis);
  return all;
}

Shape broadcast(InferContext& context, const Shape& a, const Shape& b) {
  const size_t rank = std::max(a.size(), b.size());
  Shape result(rank);
  for (size_t i = 0; i < rank; ++i) {
    const Dim x = i + a.size() < rank ? Dim(1) : a[i + a.size() - rank];
    const Dim y = i + b.size() < rank ? Dim(1) : b[i + b.size() - rank];
    if (x == Dim(1)) {
      result[i] = y;
    } else if (y == Dim(1) || x == y) {
      result[i] = x;
    } else if (known_equal(x, y) == false && (x.lower() <= 1 || y.lower() <= 1) &&
               !(x.is_constant() && y.is_constant())) {
      // One of the sizes can only be 1.
      const bool x_is_one = x.lower() <= 1 && !x.is_constant();
      context.require_equal(x_is_one ? x : y, Dim(1), "the shapes must broadcast");
      result[i] = x_is_one ? y : x;
    } else {
      context.require_equal(x, y, "the shapes must broadcast");
      result[i] = y.is_constant() ? y : x;
    }
  }
  return result;
}

Dims broadcast(const OpContext& context, const Dims& a, const Dims& b) {
  const size_t rank = std::max(a.size(), b.size());
  Dims result(rank);
  for (size_t i = 0; i < rank; ++i) {
    const int64_t x = i + a.size() < rank ? 1 : a[i + a.size() - rank];
    const int64_t y = i + b.size() < rank ? 1 : b[i + b.size() - rank];
    if (x != y && x != 1 && y != 1) {
      context.reject("shapes {} and {} do not broadcast", a, b);
    }
    result[i] = x == 1 ? y : x;
  }
  return result;
}

Tensor broadcast_to(const OpContext& context, const Tensor& x, const Dims& shape) {
  if (x.shape == shape) return x;
  if (broadcast(context, x.shape, shape) != shape) {
    context.reject("shape {} does not broadcast to {}", x.shape, shape);
  }
  const Dims own = strides_of(x.shape);
  Dims strides(shape.size(), 0);
  for (size_t i = 0; i < x.shape.size(); ++i) {
    if (x.shape[i] != 1) strides[i + shape.size() - x.shape.size()] = own[i];
  }
  Tensor result(x.type, shape);
  size_t next = 0;
  for_each_index(shape, [&](const Dims& index) {
    result.values[next++] = x.values[static_cast<size_t>(offset_of(index, strides))];
  });
  return result;
}

Dims strides_of(const Dims& shape) {
  Dims strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

AxisView::AxisView(const Dims& shape, int64_t axis) {
  for (size_t i = 0; i < shape.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    (at < axis ? outer : at == axis ? size : inner) *= shape[i];
  }
}

Tensor reshaped(Tensor x, Dims shape) {
  x.shape = std::move(shape);
  return x;
}

Tensor transposed(const Tensor& x, const Dims& perm) {
  const Dims own = strides_of(x.shape);
  Dims shape, strides;
  for (const int64_t axis : perm) {
    shape.push_back(x.shape[static_cast<size_t>(axis)]);
    strides.push_back(own[static_cast<size_t>(axis)]);
  }
  Tensor result(x.type, shape);
  size_t next = 0;
  for_each_index(shape, [&](const Dims& index) {
    result.values[next++] = x.values[static_cast<size_t>(offset_of(index, strides))];
  });
  return result;
}

Shape shape_from(InferContext& context, std::string_view parameter) {
  const ValueInfo& requested = context.input(parameter);
  if (requested.shape.size() != 1) {
    context.reject("{} has rank {}", parameter, requested.shape.size());
  }
  const auto rank = requested.shape[0].try_constant();
  if (!rank || *rank > kMaxRank) {
    context.reject("the rank of the result is not known or too large");
  }
  if (requested.elements) {
    for (const Dim& size : *requested.elements) {
      context.require_at_least(size, Dim(0), "a size");
    }
    return *requested.elements;
  }
  Shape shape;
  for (int64_t i = 0; i < *rank; ++i) {
    shape.push_back(context.data_dependent(fmt::format("dim{}", i), Dim(INT64_MAX)));
  }
  return shape;
}

DataType data_type_param(const OpContext& context, std::string_view parameter) {
  const std::string name = context.string_param(parameter);
  const auto type = parse_data_type(name);
  if (!type || *type == DataType::String) {
    context.reject("{} \"{}\" is not an element type", parameter, name);
  }
  return *type;
}

}  // namespace pippin::mil
