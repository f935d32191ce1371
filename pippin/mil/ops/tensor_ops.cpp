// Ops along an axis, sorting, and masks.
#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/ranges.h>

#include "pippin/mil/ops/families.h"
#include "pippin/mil/ops/rules.h"

namespace pippin::mil {
namespace {

Infos infer_band_part(InferContext& context) {
  if (context.input("x").shape.size() < 2) context.reject("x must have rank 2 or more");
  return infer_like_x(context);
}

Tensors evaluate_band_part(EvalContext& context) {
  Tensor result = context.input("x");
  const int64_t lower = context.int_param("lower"), upper = context.int_param("upper");
  const int64_t rows = result.shape.end()[-2], columns = result.shape.back();
  for (size_t i = 0; i < result.values.size(); ++i) {
    const auto place = static_cast<int64_t>(i);
    const int64_t row = place / columns % rows, column = place % columns;
    const bool kept = (lower < 0 || row - column <= lower) && (upper < 0 || column - row <= upper);
    if (!kept) result.values[i] = 0;
  }
  return one(std::move(result));
}

int64_t axis_param(const OpContext& context, size_t rank) {
  return normalize_axis(context, context.int_param("axis"), static_cast<int64_t>(rank));
}

Infos infer_cumsum(InferContext& context) {
  axis_param(context, context.input("x").shape.size());
  return infer_like_x(context);
}

Tensors evaluate_cumsum(EvalContext& context) {
  const Tensor& x = context.input("x");
  const bool exclusive = context.bool_param("exclusive"), reverse = context.bool_param("reverse");
  const AxisView view(x.shape, axis_param(context, x.shape.size()));
  Tensor result(x.type, x.shape);
  for (int64_t o = 0; o < view.outer; ++o) {
    for (int64_t n = 0; n < view.inner; ++n) {
      double sum = 0;
      for (int64_t step = 0; step < view.size; ++step) {
        const size_t at = view.at(o, reverse ? view.size - 1 - step : step, n);
        const double before = sum;
        sum += x.values[at];
        result.values[at] = exclusive ? before : sum;
      }
    }
  }
  return one(std::move(result));
}

// The positions of a line's elements in sorted order; the sort is stable, and NaN is the largest.
std::vector<int64_t> sorted_places(const std::vector<double>& line, bool ascending) {
  std::vector<int64_t> places(line.size());
  std::iota(places.begin(), places.end(), 0);
  std::stable_sort(places.begin(), places.end(), [&](int64_t a, int64_t b) {
    const double x = line[static_cast<size_t>(ascending ? a : b)];
    const double y = line[static_cast<size_t>(ascending ? b : a)];
    return x < y || (std::isnan(y) && !std::isnan(x));
  });
  return places;
}

// Calls visit(line, o, n) for every line of x along the axis.
template <typename Visit>
void for_each_line(const Tensor& x, const AxisView& view, Visit&& visit) {
  std::vector<double> line(static_cast<size_t>(view.size));
  for (int64_t o = 0; o < view.outer; ++o) {
    for (int64_t n = 0; n < view.inner; ++n) {
      for (int64_t i = 0; i < view.size; ++i) {
        line[static_cast<size_t>(i)] = x.values[view.at(o, i, n)];
      }
      visit(std::as_const(line), o, n);
    }
  }
}

Infos infer_argsort(InferContext& context) {
  const ValueInfo& x = context.input("x");
  axis_param(context, x.shape.size());
  return one(tensor_info(DataType::Int32, x.shape));
}

Tensors evaluate_argsort(EvalContext& context) {
  const Tensor& x = context.input("x");
  const bool ascending = context.bool_param("ascending");
  const AxisView view(x.shape, axis_param(context, x.shape.size()));
  Tensor result(DataType::Int32, x.shape);
  for_each_line(x, view, [&](const std::vector<double>& line, int64_t o, int64_t n) {
    const std::vector<int64_t> places = sorted_places(line, ascending);
    for (int64_t i = 0; i < view.size; ++i) {
      result.values[view.at(o, i, n)] = static_cast<double>(places[static_cast<size_t>(i)]);
    }
  });
  return one(std::move(result));
}

bool returns_indices(const OpContext& context) {
  return context.opset() < Opset::CoreML6 || context.bool_param("return_indices");
}

Infos infer_topk(InferContext& context) {
  const ValueInfo& x = context.input("x");
  const auto axis = static_cast<size_t>(axis_param(context, x.shape.size()));
  Shape shape = x.shape;
  const int64_t k = context.int_param("k");
  if (k != -1) {
    if (k < 0) context.reject("k is {}", k);
    context.require_at_least(shape[axis], Dim(k), "k elements of the axis");
    shape[axis] = Dim(k);
  }
  Infos result = one(tensor_info(x.type, shape));
  if (returns_indices(context)) {
    const DataType type = context.opset() >= Opset::CoreML7
                              ? data_type_param(context, "output_indices_dtype")
                              : DataType::Int32;
    result.push_back(tensor_info(type, shape));
  }
  return result;
}

Tensors evaluate_topk(EvalContext& context) {
  const Tensor& x = context.input("x");
  const bool ascending = context.bool_param("ascending");
  const int64_t axis = axis_param(context, x.shape.size());
  const AxisView from(x.shape, axis);
  int64_t k = context.int_param("k");
  if (k == -1) k = from.size;
  if (k < 0 || k > from.size) context.reject("{} elements of {}", k, from.size);
  Dims shape = x.shape;
  shape[static_cast<size_t>(axis)] = k;
  const AxisView to(shape, axis);
  Tensor values(x.type, shape), indices(DataType::Int32, shape);
  for_each_line(x, from, [&](const std::vector<double>& line, int64_t o, int64_t n) {
    const std::vector<int64_t> places = sorted_places(line, ascending);
    for (int64_t i = 0; i < k; ++i) {
      const int64_t place = places[static_cast<size_t>(i)];
      values.values[to.at(o, i, n)] = line[static_cast<size_t>(place)];
      indices.values[to.at(o, i, n)] = static_cast<double>(place);
    }
  });
  Tensors result = one(std::move(values));
  if (returns_indices(context)) result.push_back(std::move(indices));
  return result;
}

Infos infer_one_hot(InferContext& context) {
  const ValueInfo& indices = context.input("indices");
  const auto rank = static_cast<int64_t>(indices.shape.size());
  const int64_t axis = normalize_axis(context, context.int_param("axis"), rank + 1);
  const auto known = context.known("one_hot_vector_size");
  if (known && known->size() != 1) context.reject("one_hot_vector_size is not a scalar");
  const Dim size = known ? known->front() : context.data_dependent("size", Dim(INT64_MAX));
  context.require_at_least(size, Dim(0), "one_hot_vector_size");
  Shape shape = indices.shape;
  shape.insert(shape.begin() + axis, size);
  DataType type = DataType::Int32;
  for (const std::string_view name : {"on_value", "off_value"}) {
    if (context.has(name)) type = context.input(name).type;
  }
  return one(tensor_info(type, std::move(shape)));
}

Tensors evaluate_one_hot(EvalContext& context) {
  const Tensor& indices = context.input("indices");
  const int64_t axis = normalize_axis(context, context.int_param("axis"), indices.rank() + 1);
  const double on = context.float_param("on_value"), off = context.float_param("off_value");
  Dims shape = indices.shape;
  shape.insert(shape.begin() + axis, context.int_param("one_hot_vector_size"));
  Tensor result(DataType::Float32, shape);
  const AxisView view(shape, axis);
  for (int64_t o = 0; o < view.outer; ++o) {
    for (int64_t i = 0; i < view.size; ++i) {
      for (int64_t n = 0; n < view.inner; ++n) {
        const double hot = indices.values[static_cast<size_t>(o * view.inner + n)];
        result.values[view.at(o, i, n)] = hot == static_cast<double>(i) ? on : off;
      }
    }
  }
  return one(std::move(result));
}

Infos infer_non_zero(InferContext& context) {
  const ValueInfo& x = context.input("x");
  return one(tensor_info(DataType::Int32, {context.data_dependent("count", num_elements(x.shape)),
                                           Dim(static_cast<int64_t>(x.shape.size()))}));
}

Tensors evaluate_non_zero(EvalContext& context) {
  const Tensor& x = context.input("x");
  std::vector<double> found;
  size_t place = 0;
  int64_t count = 0;
  for_each_index(x.shape, [&](const Dims& index) {
    if (x.values[place++] == 0) return;
    found.insert(found.end(), index.begin(), index.end());
    ++count;
  });
  Tensor result(DataType::Int32, {count, x.rank()});
  result.values = std::move(found);
  return one(std::move(result));
}

OpDef topk_op(Opset since) {
  OpDef def{.name = "topk",
            .since = since,
            .parameters = {tensor("x", "fi"), optional_constant("k", "i", 1),
                           optional_constant("axis", "i", -1),
                           optional_constant("ascending", "b", false)},
            .infer = infer_topk,
            .evaluate = evaluate_topk,
            .doc =
                "The k largest elements along axis in descending order (ascending: the smallest "
                "in ascending order) and, unless return_indices is false, their indices. Since "
                "CoreML7 k = -1 is the whole axis. Without sort the order is not promised.",
            .num_outputs = -1};
  if (since >= Opset::CoreML6) {
    def.parameters.push_back(optional_constant("sort", "b", true));
    def.parameters.push_back(optional_constant("return_indices", "b", true));
  }
  if (since >= Opset::CoreML7) {
    def.parameters.push_back(optional_constant("output_indices_dtype", "s", "int32"));
  }
  return def;
}

}  // namespace

std::vector<OpDef> tensor_ops() {
  return {
      {"band_part",
       Opset::CoreML5,
       {tensor("x"), optional_constant("lower", "i", -1), optional_constant("upper", "i", -1)},
       infer_band_part,
       evaluate_band_part,
       "x with zeros outside a band of its last two axes: kept are `lower` diagonals below the "
       "main one and `upper` above it, all where negative."},
      {"cumsum",
       Opset::CoreML5,
       {tensor("x", "fi"), optional_constant("axis", "i", 0),
        optional_constant("exclusive", "b", false), optional_constant("reverse", "b", false)},
       infer_cumsum,
       evaluate_cumsum,
       "Sums of the elements up to each one along axis; exclusive: up to the one before. reverse "
       "goes from the end."},
      {"argsort",
       Opset::CoreML5,
       {tensor("x", "fi"), optional_constant("axis", "i", -1),
        optional_constant("ascending", "b", false)},
       infer_argsort,
       evaluate_argsort,
       "Indices that sort x along axis, descending unless `ascending`."},
      topk_op(Opset::CoreML5),
      topk_op(Opset::CoreML6),
      topk_op(Opset::CoreML7),
      {"one_hot",
       Opset::CoreML5,
       {tensor("indices", "i"), tensor("one_hot_vector_size", "i"),
        optional_constant("axis", "i", -1), optional_constant("on_value", "fib", 1),
        optional_constant("off_value", "fib", 0)},
       infer_one_hot,
       evaluate_one_hot,
       "on_value where the place along a new axis is the index, else off_value; an index out of "
       "range is nowhere."},
      {"non_zero",
       Opset::CoreML5,
       {tensor("x")},
       infer_non_zero,
       evaluate_non_zero,
       "The index of every element that is not 0, one per row, in row-major order."},
  };
}

}  // namespace pippin::mil
