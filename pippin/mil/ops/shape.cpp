// Ops that read or change shapes.
#include <algorithm>

#include <fmt/ranges.h>

#include "pippin/mil/ops/families.h"
#include "pippin/mil/ops/rules.h"

namespace pippin::mil {
namespace {

Infos infer_shape(InferContext& context) {
  const ValueInfo& x = context.input("x");
  ValueInfo result = tensor_info(DataType::Int32, {Dim(static_cast<int64_t>(x.shape.size()))});
  result.elements = x.shape;
  if (context.has("output_dtype")) result.type = data_type_param(context, "output_dtype");
  return one(std::move(result));
}

Tensors evaluate_shape(EvalContext& context) {
  const Tensor& x = context.input("x");
  Tensor result(DataType::Int32, {x.rank()});
  for (size_t i = 0; i < x.shape.size(); ++i) result.values[i] = static_cast<double>(x.shape[i]);
  return one(std::move(result));
}

// The size that a 0 in reshape's shape copies, as an index into x's shape: the same position before
// CoreML7, counted from the right since. -1: no such axis.
int64_t copied_axis(const OpContext& context, size_t place, size_t new_rank, size_t old_rank) {
  if (context.opset() < Opset::CoreML7) {
    return new_rank == old_rank ? static_cast<int64_t>(place) : -1;
  }
  const size_t from_right = new_rank - place;
  return from_right <= old_rank ? static_cast<int64_t>(old_rank - from_right) : -1;
}

Infos infer_reshape(InferContext& context) {
  const ValueInfo &x = context.input("x"), &requested = context.input("shape");
  if (requested.shape.size() != 1) context.reject("shape has rank {}", requested.shape.size());
  const auto rank = requested.shape[0].try_constant();
  if (!rank || *rank > kMaxRank) context.reject("the rank of the result is not known or too large");
  Shape shape(static_cast<size_t>(*rank));
  if (!requested.elements) {
    for (size_t i = 0; i < shape.size(); ++i) {
      shape[i] = context.data_dependent(fmt::format("dim{}", i), num_elements(x.shape));
    }
    return one(tensor_info(x.type, std::move(shape)));
  }
  std::optional<size_t> inferred;
  Dim known(1);
  for (size_t i = 0; i < shape.size(); ++i) {
    const Dim& size = (*requested.elements)[i];
    if (size == Dim(-1)) {
      if (inferred) context.reject("shape {} has two -1", to_string(*requested.elements));
      inferred = i;
      continue;
    }
    shape[i] = size;
    if (size == Dim(0)) {
      const int64_t axis = copied_axis(context, i, shape.size(), x.shape.size());
      if (axis >= 0) {
        shape[i] = x.shape[static_cast<size_t>(axis)];
      } else if (context.opset() >= Opset::CoreML7) {
        shape[i] = Dim(1);
      }
    } else {
      context.require_at_least(size, Dim(0), "a size in shape");
    }
    known = known * shape[i];
  }
  const Dim total = num_elements(x.shape);
  if (inferred) {
    if (known == Dim(0)) context.reject("-1 next to an axis of size 0");
    shape[*inferred] = floor_div(total, known);
    known = known * shape[*inferred];
  }
  context.require_equal(total, known, "the numbers of elements before and after");
  return one(tensor_info(x.type, std::move(shape)));
}

Tensors evaluate_reshape(EvalContext& context) {
  const Tensor& x = context.input("x");
  Dims shape = context.ints_param("shape");
  std::optional<size_t> inferred;
  int64_t known = 1;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == -1 && !inferred) {
      inferred = i;
      continue;
    }
    if (shape[i] == 0) {
      const int64_t axis = copied_axis(context, i, shape.size(), x.shape.size());
      if (axis >= 0) {
        shape[i] = x.shape[static_cast<size_t>(axis)];
      } else if (context.opset() >= Opset::CoreML7) {
        shape[i] = 1;
      }
    }
    if (shape[i] < 0 || (shape[i] > 1 && known > x.size())) {
      context.reject("shape {} for {} elements", context.ints_param("shape"), x.size());
    }
    known *= shape[i];
  }
  if (inferred) {
    shape[*inferred] = known == 0 ? 0 : x.size() / known;
    known *= shape[*inferred];
  }
  if (known != x.size()) {
    context.reject("shape {} for {} elements", context.ints_param("shape"), x.size());
  }
  return one(reshaped(x, std::move(shape)));
}

Dims expanded_axes(const OpContext& context, size_t rank) {
  const Dims axes = context.ints_param("axes");
  return normalize_axes(context, axes, static_cast<int64_t>(rank + axes.size()));
}

template <typename T>
std::vector<T> expanded(std::vector<T> shape, const Dims& axes) {
  for (const int64_t axis : axes) shape.insert(shape.begin() + axis, T(1));
  return shape;
}

Infos infer_expand_dims(InferContext& context) {
  const ValueInfo& x = context.input("x");
  return one(tensor_info(x.type, expanded(x.shape, expanded_axes(context, x.shape.size()))));
}
Tensors evaluate_expand_dims(EvalContext& context) {
  const Tensor& x = context.input("x");
  return one(reshaped(x, expanded(x.shape, expanded_axes(context, x.shape.size()))));
}

// Removes those of the listed axes that have size 1; keeps the others.
template <typename T>
std::vector<T> squeezed(const OpContext& context, const std::vector<T>& shape) {
  const Dims axes = axes_or_all(context, "axes", static_cast<int64_t>(shape.size()));
  std::vector<T> result;
  for (size_t i = 0; i < shape.size(); ++i) {
    const bool listed = std::find(axes.begin(), axes.end(), static_cast<int64_t>(i)) != axes.end();
    if (!listed || !(shape[i] == T(1))) result.push_back(shape[i]);
  }
  return result;
}

Infos infer_squeeze(InferContext& context) {
  const ValueInfo& x = context.input("x");
  Shape shape = x.shape;
  if (context.has("axes")) {
    const Dims axes = axes_or_all(context, "axes", static_cast<int64_t>(shape.size()));
    // Removes an axis of unknown size unless the declared rank shows that it stays.
    size_t kept = shape.size();
    for (const int64_t axis : axes) {
      if (shape[static_cast<size_t>(axis)] == Dim(1)) --kept;
    }
    const auto& outputs = context.operation().outputs();
    const bool stay = !outputs.empty() && outputs[0]->type.is_tensor() && outputs[0]->type.ranked &&
                      outputs[0]->type.dims.size() == kept;
    for (const int64_t axis : axes) {
      Dim& dim = shape[static_cast<size_t>(axis)];
      if (dim.is_constant()) continue;
      if (stay) {
        context.require_at_least(dim, Dim(2), "an axis that is not squeezed");
      } else {
        context.require_equal(dim, Dim(1), "a squeezed axis");
        dim = Dim(1);
      }
    }
  }
  return one(tensor_info(x.type, squeezed(context, shape)));
}
Tensors evaluate_squeeze(EvalContext& context) {
  const Tensor& x = context.input("x");
  return one(reshaped(x, squeezed(context, x.shape)));
}

Dims permutation(const OpContext& context, size_t rank) {
  Dims perm = context.ints_param("perm");
  if (perm.size() != rank) context.reject("perm {} for rank {}", perm, rank);
  for (int64_t& axis : perm) axis = normalize_axis(context, axis, static_cast<int64_t>(rank));
  normalize_axes(context, perm, static_cast<int64_t>(rank));
  return perm;
}

Infos infer_transpose(InferContext& context) {
  const ValueInfo& x = context.input("x");
  Shape shape;
  for (const int64_t axis : permutation(context, x.shape.size())) {
    shape.push_back(x.shape[static_cast<size_t>(axis)]);
  }
  return one(tensor_info(x.type, std::move(shape)));
}
Tensors evaluate_transpose(EvalContext& context) {
  const Tensor& x = context.input("x");
  return one(transposed(x, permutation(context, x.shape.size())));
}

OpDef shape_op(Opset since) {
  std::vector<Parameter> parameters = {tensor("x")};
  if (since >= Opset::CoreML7) {
    // Has no default, so that it is not written out: coremltools omits it too.
    parameters.push_back(optional_constant("output_dtype", "s"));
  }
  return {.name = "shape",
          .since = since,
          .parameters = std::move(parameters),
          .infer = infer_shape,
          .evaluate = evaluate_shape,
          .doc =
              "The sizes of x's axes as a vector, int32 unless output_dtype (since CoreML7) says "
              "otherwise.",
          .traits = {Trait::ReadsParts}};
}

}  // namespace

std::vector<OpDef> shape_ops() {
  return {
      shape_op(Opset::CoreML5),
      shape_op(Opset::CoreML7),
      {.name = "reshape",
       .parameters = {tensor("x"), tensor("shape", "i")},
       .infer = infer_reshape,
       .evaluate = evaluate_reshape,
       .doc = "x's elements in another shape. One -1 is inferred. A 0 copies a size of x: the one "
              "at the same place if the ranks are equal; since CoreML7 the one at the same place "
              "from the right, or 1 beyond x's rank.",
       .moves = "x",
       .traits = {Trait::Permutes, Trait::View}},
      {.name = "expand_dims",
       .parameters = {tensor("x"), constant("axes", "i")},
       .infer = infer_expand_dims,
       .evaluate = evaluate_expand_dims,
       .doc = "x with axes of size 1 inserted; axes refer to the result.",
       .moves = "x",
       .traits = {Trait::Permutes, Trait::View}},
      {.name = "squeeze",
       .parameters = {tensor("x"), optional_constant("axes", "i")},
       .infer = infer_squeeze,
       .evaluate = evaluate_squeeze,
       .doc = "x without those of the axes (all where absent) that have size 1.",
       .moves = "x",
       .traits = {Trait::Permutes, Trait::View}},
      {.name = "transpose",
       .parameters = {tensor("x"), constant("perm", "i")},
       .infer = infer_transpose,
       .evaluate = evaluate_transpose,
       .doc = "x with its axes in the order perm.",
       .moves = "x",
       .traits = {Trait::Permutes}},
  };
}

}  // namespace pippin::mil
