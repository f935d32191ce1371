// Ops that join or split tensors.
#include <algorithm>

#include <fmt/ranges.h>

#include "pippin/mil/ops/families.h"
#include "pippin/mil/ops/rules.h"

namespace pippin::mil {
namespace {

// Scalars count as vectors of one element: models build shape vectors this way.
template <typename T>
std::vector<T> at_least_vector(std::vector<T> shape) {
  if (shape.empty()) shape.push_back(T(1));
  return shape;
}

Infos infer_concat(InferContext& context) {
  const std::vector<const ValueInfo*> values = context.inputs("values");
  if (values.empty()) context.reject("no values");
  Shape shape = at_least_vector(values[0]->shape);
  const auto rank = static_cast<int64_t>(shape.size());
  const auto axis = static_cast<size_t>(normalize_axis(context, context.int_param("axis"), rank));
  const bool interleave = context.bool_param("interleave");
  Dim total(0);
  for (const ValueInfo* value : values) {
    const Shape own = at_least_vector(value->shape);
    if (own.size() != shape.size() || value->type != values[0]->type) {
      context.reject("values {} {} and {} {} do not join", to_string(values[0]->type),
                     to_string(values[0]->shape), to_string(value->type), to_string(value->shape));
    }
    for (size_t i = 0; i < shape.size(); ++i) {
      if (i == axis && !interleave) continue;
      context.require_equal(shape[i], own[i], "values must agree in all other axes");
      if (own[i].is_constant()) shape[i] = own[i];
    }
    total = total + own[axis];
  }
  shape[axis] = total;
  return one(tensor_info(values[0]->type, std::move(shape)));
}

Tensors evaluate_concat(EvalContext& context) {
  const std::vector<const Tensor*> values = context.inputs("values");
  Dims shape = at_least_vector(values.at(0)->shape);
  const int64_t axis =
      normalize_axis(context, context.int_param("axis"), static_cast<int64_t>(shape.size()));
  const bool interleave = context.bool_param("interleave");
  const auto count = static_cast<int64_t>(values.size());
  int64_t total = 0;
  for (const Tensor* value : values) {
    Dims own = at_least_vector(value->shape);
    if (own.size() != shape.size()) context.reject("values of different ranks");
    const int64_t size = own[static_cast<size_t>(axis)];
    if (interleave && size != shape[static_cast<size_t>(axis)]) {
      context.reject("interleaved values of different shapes");
    }
    own[static_cast<size_t>(axis)] = shape[static_cast<size_t>(axis)];
    if (own != shape) context.reject("shapes {} and {} do not join", shape, own);
    total += size;
  }
  shape[static_cast<size_t>(axis)] = total;
  Tensor result(values[0]->type, shape);
  const AxisView to(shape, axis);
  int64_t start = 0;
  for (int64_t v = 0; v < count; ++v) {
    const Tensor& value = *values[static_cast<size_t>(v)];
    const AxisView from(at_least_vector(value.shape), axis);
    for (int64_t o = 0; o < from.outer; ++o) {
      for (int64_t i = 0; i < from.size; ++i) {
        const int64_t place = interleave ? i * count + v : start + i;
        for (int64_t n = 0; n < from.inner; ++n) {
          result.values[to.at(o, place, n)] = value.values[from.at(o, i, n)];
        }
      }
    }
    start += from.size;
  }
  return one(std::move(result));
}

Infos infer_stack(InferContext& context) {
  const std::vector<const ValueInfo*> values = context.inputs("values");
  if (values.empty()) context.reject("no values");
  Shape shape = values[0]->shape;
  for (const ValueInfo* value : values) {
    if (value->shape.size() != shape.size() || value->type != values[0]->type) {
      context.reject("values {} {} and {} {} do not stack", to_string(values[0]->type),
                     to_string(shape), to_string(value->type), to_string(value->shape));
    }
    for (size_t i = 0; i < shape.size(); ++i) {
      context.require_equal(shape[i], value->shape[i], "values must have one shape");
      if (value->shape[i].is_constant()) shape[i] = value->shape[i];
    }
  }
  const int64_t axis =
      normalize_axis(context, context.int_param("axis"), static_cast<int64_t>(shape.size()) + 1);
  shape.insert(shape.begin() + axis, Dim(static_cast<int64_t>(values.size())));
  return one(tensor_info(values[0]->type, std::move(shape)));
}

Tensors evaluate_stack(EvalContext& context) {
  const std::vector<const Tensor*> values = context.inputs("values");
  Dims shape = values.at(0)->shape;
  const int64_t axis =
      normalize_axis(context, context.int_param("axis"), static_cast<int64_t>(shape.size()) + 1);
  shape.insert(shape.begin() + axis, static_cast<int64_t>(values.size()));
  Tensor result(values[0]->type, shape);
  const AxisView view(shape, axis);
  for (int64_t i = 0; i < view.size; ++i) {
    const Tensor& value = *values[static_cast<size_t>(i)];
    if (value.shape != values[0]->shape) context.reject("values of different shapes");
    for (int64_t o = 0; o < view.outer; ++o) {
      for (int64_t n = 0; n < view.inner; ++n) {
        result.values[view.at(o, i, n)] = value.values[static_cast<size_t>(o * view.inner + n)];
      }
    }
  }
  return one(std::move(result));
}

Infos infer_split(InferContext& context) {
  const ValueInfo& x = context.input("x");
  const auto rank = static_cast<int64_t>(x.shape.size());
  const auto axis = static_cast<size_t>(normalize_axis(context, context.int_param("axis"), rank));
  std::vector<Dim> sizes;
  if (context.has("split_sizes")) {
    const auto known = context.known("split_sizes");
    if (known) {
      sizes = *known;
    } else {
      for (size_t i = 0; i < context.operation().outputs().size(); ++i) {
        sizes.push_back(context.data_dependent(fmt::format("size{}", i), x.shape[axis]));
      }
    }
    Dim total(0);
    for (const Dim& size : sizes) {
      context.require_at_least(size, Dim(0), "a part's size");
      total = total + size;
    }
    if (known) context.require_equal(total, x.shape[axis], "the parts make up the axis");
    if (context.has("num_splits") &&
        context.int_param("num_splits") != static_cast<int64_t>(sizes.size())) {
      context.reject("num_splits is {}, split_sizes has {} elements",
                     context.int_param("num_splits"), sizes.size());
    }
  } else {
    const int64_t count = context.int_param("num_splits");
    if (count < 1 || count > int64_t{1} << 20) context.reject("num_splits is {}", count);
    const Dim size = floor_div(x.shape[axis], Dim(count));
    context.require_equal(size * Dim(count), x.shape[axis], "equal parts make up the axis");
    sizes.assign(static_cast<size_t>(count), size);
  }
  Infos parts;
  for (const Dim& size : sizes) {
    Shape shape = x.shape;
    shape[axis] = size;
    parts.push_back(tensor_info(x.type, std::move(shape)));
  }
  return parts;
}

Tensors evaluate_split(EvalContext& context) {
  const Tensor& x = context.input("x");
  const int64_t axis = normalize_axis(context, context.int_param("axis"), x.rank());
  const AxisView from(x.shape, axis);
  Dims sizes;
  if (context.has("split_sizes")) {
    sizes = context.ints_param("split_sizes");
  } else {
    const int64_t count = context.int_param("num_splits");
    sizes.assign(static_cast<size_t>(count), from.size / count);
  }
  int64_t total = 0;
  for (const int64_t size : sizes) {
    if (size < 0 || size > from.size) context.reject("parts {} of {}", sizes, from.size);
    total += size;
  }
  if (total != from.size) context.reject("parts {} of {}", sizes, from.size);
  Tensors parts;
  int64_t start = 0;
  for (const int64_t size : sizes) {
    Dims shape = x.shape;
    shape[static_cast<size_t>(axis)] = size;
    Tensor part(x.type, shape);
    const AxisView to(shape, axis);
    for (int64_t o = 0; o < to.outer; ++o) {
      for (int64_t i = 0; i < size; ++i) {
        for (int64_t n = 0; n < to.inner; ++n) {
          part.values[to.at(o, i, n)] = x.values[from.at(o, start + i, n)];
        }
      }
    }
    start += size;
    parts.push_back(std::move(part));
  }
  return parts;
}

Infos infer_tile(InferContext& context) {
  const ValueInfo& x = context.input("x");
  const auto reps = context.known("reps");
  if (reps && reps->size() != x.shape.size()) {
    context.reject("reps has {} elements for rank {}", reps->size(), x.shape.size());
  }
  Shape shape;
  for (size_t i = 0; i < x.shape.size(); ++i) {
    if (reps) {
      context.require_at_least((*reps)[i], Dim(0), "a repetition");
      shape.push_back(x.shape[i] * (*reps)[i]);
    } else {
      shape.push_back(context.data_dependent(fmt::format("dim{}", i), Dim(INT64_MAX)));
    }
  }
  return one(tensor_info(x.type, std::move(shape)));
}

Tensors evaluate_tile(EvalContext& context) {
  const Tensor& x = context.input("x");
  const Dims reps = context.ints_param("reps");
  if (reps.size() != x.shape.size()) context.reject("reps {} for rank {}", reps, x.rank());
  Dims shape = x.shape;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (reps[i] < 0) context.reject("reps {}", reps);
    // The size of the result is checked when it is created; here only overflow matters.
    if (__builtin_mul_overflow(shape[i], reps[i], &shape[i])) context.reject("reps {}", reps);
  }
  const Dims strides = strides_of(x.shape);
  Tensor result(x.type, shape);
  size_t next = 0;
  for_each_index(shape, [&](const Dims& index) {
    int64_t offset = 0;
    for (size_t i = 0; i < index.size(); ++i) offset += index[i] % x.shape[i] * strides[i];
    result.values[next++] = x.values[static_cast<size_t>(offset)];
  });
  return one(std::move(result));
}

}  // namespace

std::vector<OpDef> join_ops() {
  return {
      {.name = "concat",
       .parameters = {tuple("values"), constant("axis", "i"),
                      optional_constant("interleave", "b", false)},
       .infer = infer_concat,
       .evaluate = evaluate_concat,
       .doc = "The values one after the other along axis, or, interleaved, their elements in "
              "turn. Scalars count as vectors of one element.",
       .moves = "values"},
      {.name = "stack",
       .parameters = {tuple("values"), constant("axis", "i")},
       .infer = infer_stack,
       .evaluate = evaluate_stack,
       .doc = "The values, all of one shape, along a new axis.",
       .moves = "values"},
      {.name = "split",
       .parameters = {tensor("x"), constant("axis", "i"), optional_constant("num_splits", "i"),
                      optional_tensor("split_sizes", "i")},
       .infer = infer_split,
       .evaluate = evaluate_split,
       .doc = "x cut along axis into num_splits equal parts, or parts of split_sizes.",
       .num_outputs = -1,
       .moves = "x"},
      {.name = "tile",
       .parameters = {tensor("x"), tensor("reps", "i")},
       .infer = infer_tile,
       .evaluate = evaluate_tile,
       .doc = "x repeated reps times along each axis.",
       .moves = "x"},
  };
}

}  // namespace pippin::mil
