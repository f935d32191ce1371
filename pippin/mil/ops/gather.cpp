// Reading elements at indices.
#include <algorithm>

#include <fmt/ranges.h>

#include "pippin/mil/ops/families.h"
#include "pippin/mil/ops/indices.h"

namespace pippin::mil {

int64_t checked_index(const OpContext& context, double value, int64_t size, bool validate) {
  auto index = static_cast<int64_t>(value);
  const bool negative_allowed = context.opset() < Opset::CoreML7;
  if (index < 0 && (negative_allowed || !validate)) index += size;
  if (index >= 0 && index < size) return index;
  if (validate || negative_allowed) {
    context.reject("index {} is out of range for size {}", static_cast<int64_t>(value), size);
  }
  if (size == 0) context.reject("an index into an empty axis");
  return index < 0 ? 0 : size - 1;
}

bool validates(const OpContext& context) {
  return context.opset() >= Opset::CoreML7 && context.bool_param("validate_indices");
}

namespace {

struct GatherAxes {
  int64_t axis = 0, batch_dims = 0;
};

GatherAxes gather_axes(const OpContext& context, int64_t rank, int64_t indices_rank) {
  GatherAxes axes;
  axes.axis = normalize_axis(context, context.int_param("axis"), rank);
  if (context.opset() >= Opset::CoreML6) axes.batch_dims = context.int_param("batch_dims");
  if (axes.batch_dims < 0) axes.batch_dims += indices_rank;
  if (axes.batch_dims < 0 || axes.batch_dims > axes.axis || axes.batch_dims > indices_rank) {
    context.reject("batch_dims {} with axis {} and indices of rank {}", axes.batch_dims, axes.axis,
                   indices_rank);
  }
  return axes;
}

template <typename T>
std::vector<T> gathered_shape(const std::vector<T>& x, const std::vector<T>& indices,
                              const GatherAxes& axes) {
  std::vector<T> shape(x.begin(), x.begin() + axes.axis);
  shape.insert(shape.end(), indices.begin() + axes.batch_dims, indices.end());
  shape.insert(shape.end(), x.begin() + axes.axis + 1, x.end());
  return shape;
}

Infos infer_gather(InferContext& context) {
  const ValueInfo &x = context.input("x"), &indices = context.input("indices");
  const GatherAxes axes = gather_axes(context, static_cast<int64_t>(x.shape.size()),
                                      static_cast<int64_t>(indices.shape.size()));
  for (size_t i = 0; i < static_cast<size_t>(axes.batch_dims); ++i) {
    context.require_equal(x.shape[i], indices.shape[i], "a batch axis");
  }
  return one(tensor_info(x.type, gathered_shape(x.shape, indices.shape, axes)));
}

// x is [batch, between, size, inner], indices [batch, count]: out is [batch, between, count,
// inner].
Tensors evaluate_gather(EvalContext& context) {
  const Tensor &x = context.input("x"), &indices = context.input("indices");
  const GatherAxes axes = gather_axes(context, x.rank(), indices.rank());
  const bool validate = validates(context);
  const Dims batch_shape(x.shape.begin(), x.shape.begin() + axes.batch_dims);
  if (!std::equal(batch_shape.begin(), batch_shape.end(), indices.shape.begin())) {
    context.reject("batch axes of {} and {} differ", x.shape, indices.shape);
  }
  const int64_t batch = num_elements(batch_shape);
  const int64_t between =
      num_elements(Dims(x.shape.begin() + axes.batch_dims, x.shape.begin() + axes.axis));
  const AxisView view(x.shape, axes.axis);
  const int64_t count =
      num_elements(Dims(indices.shape.begin() + axes.batch_dims, indices.shape.end()));
  Tensor result(x.type, gathered_shape(x.shape, indices.shape, axes));
  size_t next = 0;
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t o = 0; o < between; ++o) {
      for (int64_t i = 0; i < count; ++i) {
        const double wanted = indices.values[static_cast<size_t>(b * count + i)];
        if (view.inner == 0) continue;
        const int64_t index = checked_index(context, wanted, view.size, validate);
        for (int64_t n = 0; n < view.inner; ++n) {
          result.values[next++] = x.values[view.at(b * between + o, index, n)];
        }
      }
    }
  }
  return one(std::move(result));
}

Infos infer_gather_along_axis(InferContext& context) {
  const ValueInfo &x = context.input("x"), &indices = context.input("indices");
  if (x.shape.size() != indices.shape.size()) {
    context.reject("x has rank {}, indices {}", x.shape.size(), indices.shape.size());
  }
  const auto axis = static_cast<size_t>(
      normalize_axis(context, context.int_param("axis"), static_cast<int64_t>(x.shape.size())));
  for (size_t i = 0; i < x.shape.size(); ++i) {
    if (i != axis) context.require_equal(x.shape[i], indices.shape[i], "all other axes");
  }
  return one(tensor_info(x.type, indices.shape));
}

Tensors evaluate_gather_along_axis(EvalContext& context) {
  const Tensor &x = context.input("x"), &indices = context.input("indices");
  const int64_t axis = normalize_axis(context, context.int_param("axis"), x.rank());
  const bool validate = validates(context);
  const AxisView from(x.shape, axis), to(indices.shape, axis);
  if (from.outer != to.outer || from.inner != to.inner) {
    context.reject("shapes {} and {}", x.shape, indices.shape);
  }
  Tensor result(x.type, indices.shape);
  for (int64_t o = 0; o < to.outer; ++o) {
    for (int64_t i = 0; i < to.size; ++i) {
      for (int64_t n = 0; n < to.inner; ++n) {
        const int64_t index =
            checked_index(context, indices.values[to.at(o, i, n)], from.size, validate);
        result.values[to.at(o, i, n)] = x.values[from.at(o, index, n)];
      }
    }
  }
  return one(std::move(result));
}

struct GatherNdAxes {
  int64_t batch_dims = 0, coordinates = 0;
};

GatherNdAxes gather_nd_axes(const OpContext& context, int64_t x_rank, int64_t indices_rank,
                            int64_t coordinates) {
  GatherNdAxes axes{0, coordinates};
  if (context.opset() >= Opset::CoreML6) axes.batch_dims = context.int_param("batch_dims");
  if (axes.batch_dims < 0 || axes.batch_dims >= indices_rank ||
      coordinates > x_rank - axes.batch_dims) {
    context.reject("batch_dims {} and {} coordinates for ranks {} and {}", axes.batch_dims,
                   coordinates, x_rank, indices_rank);
  }
  return axes;
}

template <typename T>
std::vector<T> gather_nd_shape(const std::vector<T>& x, const std::vector<T>& indices,
                               const GatherNdAxes& axes) {
  std::vector<T> shape(indices.begin(), indices.end() - 1);
  shape.insert(shape.end(), x.begin() + axes.batch_dims + axes.coordinates, x.end());
  return shape;
}

Infos infer_gather_nd(InferContext& context) {
  const ValueInfo &x = context.input("x"), &indices = context.input("indices");
  if (indices.shape.empty()) context.reject("indices have rank 0");
  const auto coordinates = indices.shape.back().try_constant();
  if (!coordinates) context.reject("the number of coordinates is not known");
  const GatherNdAxes axes =
      gather_nd_axes(context, static_cast<int64_t>(x.shape.size()),
                     static_cast<int64_t>(indices.shape.size()), *coordinates);
  for (size_t i = 0; i < static_cast<size_t>(axes.batch_dims); ++i) {
    context.require_equal(x.shape[i], indices.shape[i], "a batch axis");
  }
  return one(tensor_info(x.type, gather_nd_shape(x.shape, indices.shape, axes)));
}

Tensors evaluate_gather_nd(EvalContext& context) {
  const Tensor &x = context.input("x"), &indices = context.input("indices");
  const GatherNdAxes axes = gather_nd_axes(context, x.rank(), indices.rank(), indices.shape.back());
  const bool validate = validates(context);
  const Dims batch_shape(x.shape.begin(), x.shape.begin() + axes.batch_dims);
  if (!std::equal(batch_shape.begin(), batch_shape.end(), indices.shape.begin())) {
    context.reject("batch axes of {} and {} differ", x.shape, indices.shape);
  }
  const Dims strides = strides_of(x.shape);
  const int64_t batch = num_elements(batch_shape);
  const int64_t per_batch =
      num_elements(Dims(indices.shape.begin() + axes.batch_dims, indices.shape.end() - 1));
  const int64_t x_per_batch = num_elements(Dims(x.shape.begin() + axes.batch_dims, x.shape.end()));
  const int64_t slice =
      num_elements(Dims(x.shape.begin() + axes.batch_dims + axes.coordinates, x.shape.end()));
  Tensor result(x.type, gather_nd_shape(x.shape, indices.shape, axes));
  size_t next = 0, coordinate = 0;
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t i = 0; i < per_batch; ++i) {
      int64_t start = b * x_per_batch;
      for (int64_t k = 0; k < axes.coordinates; ++k) {
        const auto axis = static_cast<size_t>(axes.batch_dims + k);
        start += checked_index(context, indices.values[coordinate++], x.shape[axis], validate) *
                 strides[axis];
      }
      for (int64_t n = 0; n < slice; ++n) {
        result.values[next++] = x.values[static_cast<size_t>(start + n)];
      }
    }
  }
  return one(std::move(result));
}

// One entry per opset that adds a parameter.
OpDef gather_op(std::string_view name, Opset since, bool has_axis, bool has_batch, InferRule infer,
                EvalRule evaluate, std::string_view doc) {
  OpDef def{.name = name,
            .since = since,
            .parameters = {tensor("x"), tensor("indices", "i")},
            .infer = infer,
            .evaluate = evaluate,
            .doc = doc,
            .moves = "x",
            .traits = {Trait::ReadsParts}};
  if (has_axis) def.parameters.push_back(optional_constant("axis", "i", 0));
  if (has_batch && since >= Opset::CoreML6) {
    def.parameters.push_back(optional_constant("batch_dims", "i", 0));
  }
  if (since >= Opset::CoreML7) {
    def.parameters.push_back(optional_constant("validate_indices", "b", false));
  }
  return def;
}

}  // namespace

std::vector<OpDef> gather_ops() {
  std::vector<OpDef> ops;
  for (const Opset since : {Opset::CoreML5, Opset::CoreML6, Opset::CoreML7}) {
    ops.push_back(gather_op(
        "gather", since, true, true, infer_gather, evaluate_gather,
        "The slices of x at indices along axis, after batch_dims common axes. Before CoreML7 "
        "negative indices count from the end. Indices out of range are refused, since CoreML7 "
        "only with validate_indices; else they read some element of x."));
    ops.push_back(gather_op(
        "gather_nd", since, false, true, infer_gather_nd, evaluate_gather_nd,
        "The slices of x at coordinates: the last axis of indices addresses the axes of x after "
        "batch_dims common ones. Negative and wrong indices as in gather."));
    if (since == Opset::CoreML6) continue;
    ops.push_back(gather_op(
        "gather_along_axis", since, true, false, infer_gather_along_axis,
        evaluate_gather_along_axis,
        "x[..., indices[..., i, ...], ...] along axis; x and indices have equal sizes in all "
        "other axes. Negative and wrong indices as in gather."));
  }
  return ops;
}

}  // namespace pippin::mil
