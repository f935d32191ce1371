// Writing elements at indices.
#include <algorithm>

#include <fmt/ranges.h>

#include "pippin/mil/ops/families.h"
#include "pippin/mil/ops/indices.h"

namespace pippin::mil {
namespace {

using Combine = double (*)(double old_value, double update);

double update(double, double value) {
  return value;
}
double add(double old_value, double value) {
  return old_value + value;
}
double sub(double old_value, double value) {
  return old_value - value;
}
double mul(double old_value, double value) {
  return old_value * value;
}
double div(double old_value, double value) {
  return old_value / value;
}
double larger(double old_value, double value) {
  return old_value < value ? value : old_value;
}
double smaller(double old_value, double value) {
  return old_value > value ? value : old_value;
}

Combine combine_of(const OpContext& context) {
  const std::string mode = context.string_param("mode");
  if (mode == "update") return update;
  if (mode == "add") return add;
  if (mode == "sub") return sub;
  if (mode == "mul") return mul;
  if (mode == "div") return div;
  if (mode == "max") return larger;
  if (mode == "min") return smaller;
  context.reject("mode \"{}\" is unknown", mode);
}

Infos like_data(InferContext& context, const Shape& updates_shape) {
  combine_of(context);
  const ValueInfo &data = context.input("data"), &updates = context.input("updates");
  if (data.type != updates.type) {
    context.reject("data is {}, updates {}", to_string(data.type), to_string(updates.type));
  }
  if (updates.shape.size() != updates_shape.size()) {
    context.reject("updates has shape {}, needs {}", to_string(updates.shape),
                   to_string(updates_shape));
  }
  for (size_t i = 0; i < updates_shape.size(); ++i) {
    context.require_equal(updates.shape[i], updates_shape[i], "the shape of updates");
  }
  return one(tensor_info(data.type, data.shape));
}

int64_t axis_of(const OpContext& context, size_t rank) {
  return normalize_axis(context, context.int_param("axis"), static_cast<int64_t>(rank));
}

Infos infer_scatter(InferContext& context) {
  const ValueInfo &data = context.input("data"), &indices = context.input("indices");
  const int64_t axis = axis_of(context, data.shape.size());
  Shape shape(data.shape.begin(), data.shape.begin() + axis);
  shape.insert(shape.end(), indices.shape.begin(), indices.shape.end());
  shape.insert(shape.end(), data.shape.begin() + axis + 1, data.shape.end());
  return like_data(context, shape);
}

Tensors evaluate_scatter(EvalContext& context) {
  Tensor result = context.input("data");
  const Tensor &indices = context.input("indices"), &updates = context.input("updates");
  const AxisView view(result.shape, axis_of(context, result.shape.size()));
  const Combine combine = combine_of(context);
  const bool validate = validates(context);
  size_t next = 0;
  for (int64_t o = 0; o < view.outer; ++o) {
    for (const double wanted : indices.values) {
      const int64_t index = checked_index(context, wanted, view.size, validate);
      for (int64_t n = 0; n < view.inner; ++n) {
        double& value = result.values[view.at(o, index, n)];
        value = combine(value, updates.values.at(next++));
      }
    }
  }
  return one(std::move(result));
}

Infos infer_scatter_along_axis(InferContext& context) {
  const ValueInfo &data = context.input("data"), &indices = context.input("indices");
  if (data.shape.size() != indices.shape.size()) {
    context.reject("data has rank {}, indices {}", data.shape.size(), indices.shape.size());
  }
  const auto axis = static_cast<size_t>(axis_of(context, data.shape.size()));
  for (size_t i = 0; i < data.shape.size(); ++i) {
    if (i != axis) context.require_equal(data.shape[i], indices.shape[i], "all other axes");
  }
  return like_data(context, indices.shape);
}

Tensors evaluate_scatter_along_axis(EvalContext& context) {
  Tensor result = context.input("data");
  const Tensor &indices = context.input("indices"), &updates = context.input("updates");
  const int64_t axis = axis_of(context, result.shape.size());
  const AxisView to(result.shape, axis), from(indices.shape, axis);
  if (from.outer != to.outer || from.inner != to.inner || updates.shape != indices.shape) {
    context.reject("shapes {}, {} and {}", result.shape, indices.shape, updates.shape);
  }
  const Combine combine = combine_of(context);
  const bool validate = validates(context);
  for (int64_t o = 0; o < from.outer; ++o) {
    for (int64_t i = 0; i < from.size; ++i) {
      for (int64_t n = 0; n < from.inner; ++n) {
        const size_t at = from.at(o, i, n);
        const int64_t index = checked_index(context, indices.values[at], to.size, validate);
        double& value = result.values[to.at(o, index, n)];
        value = combine(value, updates.values[at]);
      }
    }
  }
  return one(std::move(result));
}

Infos infer_scatter_nd(InferContext& context) {
  const ValueInfo &data = context.input("data"), &indices = context.input("indices");
  if (indices.shape.empty()) context.reject("indices have rank 0");
  const auto coordinates = indices.shape.back().try_constant();
  if (!coordinates || *coordinates > static_cast<int64_t>(data.shape.size())) {
    context.reject("{} coordinates for data of rank {}", indices.shape.back().to_string(),
                   data.shape.size());
  }
  Shape shape(indices.shape.begin(), indices.shape.end() - 1);
  shape.insert(shape.end(), data.shape.begin() + *coordinates, data.shape.end());
  return like_data(context, shape);
}

Tensors evaluate_scatter_nd(EvalContext& context) {
  Tensor result = context.input("data");
  const Tensor &indices = context.input("indices"), &updates = context.input("updates");
  const auto coordinates = static_cast<size_t>(indices.shape.back());
  const Combine combine = combine_of(context);
  const bool validate = validates(context);
  const Dims strides = strides_of(result.shape);
  const int64_t slice =
      num_elements(Dims(result.shape.begin() + indices.shape.back(), result.shape.end()));
  const int64_t count = num_elements(Dims(indices.shape.begin(), indices.shape.end() - 1));
  size_t next = 0, coordinate = 0;
  for (int64_t i = 0; i < count; ++i) {
    int64_t start = 0;
    for (size_t axis = 0; axis < coordinates; ++axis) {
      start += checked_index(context, indices.values[coordinate++], result.shape[axis], validate) *
               strides[axis];
    }
    for (int64_t n = 0; n < slice; ++n) {
      double& value = result.values[static_cast<size_t>(start + n)];
      value = combine(value, updates.values.at(next++));
    }
  }
  return one(std::move(result));
}

OpDef scatter_op(std::string_view name, Opset since, bool has_axis, InferRule infer,
                 EvalRule evaluate, std::string_view doc) {
  OpDef def{.name = name,
            .since = since,
            .parameters = {tensor("data", "fi"), tensor("indices", "i"), tensor("updates", "fi"),
                           optional_constant("mode", "s", "add")},
            .infer = infer,
            .evaluate = evaluate,
            .doc = doc};
  if (has_axis) def.parameters.push_back(optional_constant("axis", "i", 0));
  if (since >= Opset::CoreML7) {
    def.parameters.push_back(optional_constant("validate_indices", "b", false));
  }
  return def;
}

}  // namespace

std::vector<OpDef> scatter_ops() {
  std::vector<OpDef> ops;
  for (const Opset since : {Opset::CoreML5, Opset::CoreML7}) {
    ops.push_back(scatter_op(
        "scatter", since, true, infer_scatter, evaluate_scatter,
        "data with the slices at indices along axis combined with updates: mode is update, add, "
        "sub, mul, div, max or min; repeated indices act one after the other. Wrong indices as in "
        "gather."));
    ops.push_back(scatter_op(
        "scatter_along_axis", since, true, infer_scatter_along_axis, evaluate_scatter_along_axis,
        "data with the elements at indices along axis combined with updates, which have the shape "
        "of indices; mode as in scatter."));
    ops.push_back(scatter_op(
        "scatter_nd", since, false, infer_scatter_nd, evaluate_scatter_nd,
        "data with the slices at coordinates (the last axis of indices) combined with updates; "
        "mode as in scatter."));
  }
  return ops;
}

}  // namespace pippin::mil
