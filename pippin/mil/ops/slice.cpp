#include "pippin/mil/ops/slice.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "pippin/mil/ops/families.h"

namespace pippin::mil {
namespace {

struct Masks {
  std::vector<bool> begin, end, squeeze;
  std::vector<int64_t> stride;
};

Masks masks_of(const OpContext& context, size_t rank) {
  Masks masks;
  const auto flags = [&](std::string_view name) {
    std::vector<bool> values(rank, false);
    if (context.has(name)) values = context.bools_param(name);
    if (values.size() != rank)
      context.reject("{} has {} elements, needs {}", name, values.size(), rank);
    return values;
  };
  masks.begin = flags("begin_mask");
  masks.end = flags("end_mask");
  masks.squeeze = flags("squeeze_mask");
  masks.stride.assign(rank, 1);
  if (context.has("stride")) masks.stride = context.ints_param("stride");
  if (masks.stride.size() != rank) {
    context.reject("stride has {} elements, needs {}", masks.stride.size(), rank);
  }
  for (const int64_t stride : masks.stride) {
    if (stride == 0) context.reject("a stride is 0");
  }
  return masks;
}

int64_t clamp(int64_t value, int64_t low, int64_t high) {
  return std::max(low, std::min(value, high));
}

// A bound counted from the end if it is negative, then clamped to at least `low`. A bound that may
// be either is taken as non-negative, which a run must confirm; it is not clamped again, so that
// [end - q, end) has q elements.
Dim from_start(InferContext& context, const Dim& bound, const Dim& size, const Dim& low) {
  if (bound.upper() < 0) return maximum(low, bound + size);
  context.require_at_least(bound, Dim(0), "a slice's bound");
  return bound;
}

Dim slice_count(InferContext& context, const std::optional<Dim>& begin,
                const std::optional<Dim>& end, int64_t stride, const Dim& size) {
  // Masked bounds are absent: the full extent in the stride's direction.
  if (stride > 0) {
    const Dim first = begin ? minimum(from_start(context, *begin, size, Dim(0)), size) : Dim(0);
    const Dim last = end ? minimum(from_start(context, *end, size, Dim(0)), size) : size;
    return maximum(Dim(0), floor_div(last - first + Dim(stride - 1), Dim(stride)));
  }
  const Dim top = size - Dim(1);
  const Dim first = begin ? minimum(from_start(context, *begin, size, Dim(-1)), top) : top;
  const Dim last = end ? minimum(from_start(context, *end, size, Dim(-1)), top) : Dim(-1);
  return maximum(Dim(0), floor_div(first - last - Dim(stride) - Dim(1), Dim(-stride)));
}

Infos infer_slice_by_index(InferContext& context) {
  const ValueInfo& x = context.input("x");
  return one(tensor_info(x.type, slice_shape(context, x.shape)));
}

Tensors evaluate_slice_by_index(EvalContext& context) {
  const Tensor& x = context.input("x");
  const std::vector<SliceAxis> axes = slice_axes(context, x.shape);
  const Dims strides = strides_of(x.shape);
  Dims full, shape, steps;
  int64_t start = 0;
  for (size_t i = 0; i < axes.size(); ++i) {
    full.push_back(axes[i].count);
    if (!axes[i].squeezed) shape.push_back(axes[i].count);
    steps.push_back(axes[i].stride * strides[i]);
    start += axes[i].start * strides[i];
  }
  Tensor result(x.type, shape);
  size_t next = 0;
  for_each_index(full, [&](const Dims& index) {
    result.values[next++] = x.values[static_cast<size_t>(start + offset_of(index, steps))];
  });
  return one(std::move(result));
}

Infos infer_slice_update(InferContext& context) {
  const ValueInfo &x = context.input("x"), &update = context.input("update");
  if (x.type != update.type) {
    context.reject("x is {}, update {}", to_string(x.type), to_string(update.type));
  }
  const Shape slice = slice_shape(context, x.shape);
  if (slice.size() != update.shape.size()) {
    context.reject("the slice has rank {}, update {}", slice.size(), update.shape.size());
  }
  const bool known = context.known("begin").has_value() && context.known("end").has_value();
  for (size_t i = 0; known && i < slice.size(); ++i) {
    context.require_equal(slice[i], update.shape[i], "update has the slice's shape");
  }
  return one(tensor_info(x.type, x.shape));
}

Tensors evaluate_slice_update(EvalContext& context) {
  Tensor result = context.input("x");
  const Tensor& update = context.input("update");
  const std::vector<SliceAxis> axes = slice_axes(context, result.shape);
  const Dims strides = strides_of(result.shape);
  Dims full, shape, steps;
  int64_t start = 0;
  for (size_t i = 0; i < axes.size(); ++i) {
    full.push_back(axes[i].count);
    if (!axes[i].squeezed) shape.push_back(axes[i].count);
    steps.push_back(axes[i].stride * strides[i]);
    start += axes[i].start * strides[i];
  }
  if (shape != update.shape) {
    context.reject("the slice is {}, update {}", shape, update.shape);
  }
  size_t next = 0;
  for_each_index(full, [&](const Dims& index) {
    result.values[static_cast<size_t>(start + offset_of(index, steps))] = update.values[next++];
  });
  return one(std::move(result));
}

Infos infer_slice_by_size(InferContext& context) {
  const ValueInfo& x = context.input("x");
  const auto begin = context.known("begin"), size = context.known("size");
  Shape shape;
  for (size_t i = 0; i < x.shape.size(); ++i) {
    const bool in_range = (!begin || i < begin->size()) && (!size || i < size->size());
    if (!in_range) context.reject("begin and size need {} elements", x.shape.size());
    if (size && (*size)[i] != Dim(-1)) {
      context.require_at_least((*size)[i], Dim(0), "a slice's size");
      context.require_at_least(x.shape[i], (*size)[i], "a slice's size");
      shape.push_back((*size)[i]);
    } else if (size && begin) {
      shape.push_back(x.shape[i] - from_start(context, (*begin)[i], x.shape[i], Dim(0)));
      context.require_at_least(shape.back(), Dim(0), "a slice's begin");
    } else {
      shape.push_back(context.data_dependent(fmt::format("dim{}", i), x.shape[i]));
    }
  }
  return one(tensor_info(x.type, std::move(shape)));
}

Tensors evaluate_slice_by_size(EvalContext& context) {
  const Tensor& x = context.input("x");
  Dims begin = context.ints_param("begin"), size = context.ints_param("size");
  if (begin.size() != x.shape.size() || size.size() != x.shape.size()) {
    context.reject("begin {} and size {} for rank {}", begin, size, x.rank());
  }
  for (size_t i = 0; i < begin.size(); ++i) {
    if (begin[i] < 0) begin[i] += x.shape[i];
    if (size[i] == -1) size[i] = x.shape[i] - begin[i];
    if (begin[i] < 0 || size[i] < 0 || size[i] > x.shape[i] || begin[i] > x.shape[i] - size[i]) {
      context.reject("axis {}: {} elements from {} on, of {}", i, size[i], begin[i], x.shape[i]);
    }
  }
  const Dims strides = strides_of(x.shape);
  const int64_t start = offset_of(begin, strides);
  Tensor result(x.type, size);
  size_t next = 0;
  for_each_index(size, [&](const Dims& index) {
    result.values[next++] = x.values[static_cast<size_t>(start + offset_of(index, strides))];
  });
  return one(std::move(result));
}

std::vector<Parameter> slice_parameters(bool update) {
  std::vector<Parameter> parameters = {tensor("x")};
  if (update) parameters.push_back(tensor("update"));
  for (const Parameter& parameter :
       {tensor("begin", "i"), tensor("end", "i"), optional_constant("stride", "i"),
        optional_constant("begin_mask", "b"), optional_constant("end_mask", "b"),
        optional_constant("squeeze_mask", "b")}) {
    parameters.push_back(parameter);
  }
  return parameters;
}

}  // namespace

std::vector<SliceAxis> slice_axes(const EvalContext& context, const Dims& shape) {
  const Masks masks = masks_of(context, shape.size());
  const Dims begin = context.ints_param("begin"), end = context.ints_param("end");
  if (begin.size() != shape.size() || end.size() != shape.size()) {
    context.reject("begin {} and end {} for rank {}", begin, end, shape.size());
  }
  std::vector<SliceAxis> axes(shape.size());
  for (size_t i = 0; i < shape.size(); ++i) {
    SliceAxis& axis = axes[i];
    const int64_t size = shape[i];
    axis.stride = masks.stride[i];
    axis.squeezed = masks.squeeze[i];
    const int64_t first = begin[i] < 0 ? begin[i] + size : begin[i];
    const int64_t last = end[i] < 0 ? end[i] + size : end[i];
    if (axis.squeezed) {
      axis.start = masks.begin[i] ? (axis.stride > 0 ? 0 : size - 1) : first;
      axis.count = 1;
      if (axis.start < 0 || axis.start >= size) {
        context.reject("axis {}: index {} of {}", i, begin[i], size);
      }
    } else if (axis.stride > 0) {
      axis.start = masks.begin[i] ? 0 : clamp(first, 0, size);
      const int64_t stop = masks.end[i] ? size : clamp(last, 0, size);
      axis.count = std::max<int64_t>(0, (stop - axis.start + axis.stride - 1) / axis.stride);
    } else {
      axis.start = masks.begin[i] ? size - 1 : clamp(first, -1, size - 1);
      const int64_t stop = masks.end[i] ? -1 : clamp(last, -1, size - 1);
      axis.count = std::max<int64_t>(0, (axis.start - stop - axis.stride - 1) / -axis.stride);
    }
  }
  return axes;
}

Shape slice_shape(InferContext& context, const Shape& shape) {
  const Masks masks = masks_of(context, shape.size());
  const auto begin = context.known("begin"), end = context.known("end");
  if ((begin && begin->size() != shape.size()) || (end && end->size() != shape.size())) {
    context.reject("begin and end need {} elements", shape.size());
  }
  Shape result;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (masks.squeeze[i]) continue;
    if ((!begin && !masks.begin[i]) || (!end && !masks.end[i])) {
      result.push_back(context.data_dependent(fmt::format("dim{}", i), shape[i]));
      continue;
    }
    const auto first = masks.begin[i] ? std::nullopt : std::optional<Dim>((*begin)[i]);
    const auto last = masks.end[i] ? std::nullopt : std::optional<Dim>((*end)[i]);
    result.push_back(slice_count(context, first, last, masks.stride[i], shape[i]));
  }
  return result;
}

std::vector<OpDef> slice_ops() {
  return {
      {.name = "slice_by_index",
       .parameters = slice_parameters(false),
       .infer = infer_slice_by_index,
       .evaluate = evaluate_slice_by_index,
       .doc = "x[begin:end:stride] per axis as in numpy: negative bounds count from the end, "
              "bounds beyond it are cut off. A masked bound is the full extent; a squeezed axis "
              "takes the element at begin and goes.",
       .moves = "x",
       .traits = {Trait::ReadsParts}},
      {.name = "slice_by_size",
       .parameters = {tensor("x"), tensor("begin", "i"), tensor("size", "i")},
       .infer = infer_slice_by_size,
       .evaluate = evaluate_slice_by_size,
       .doc = "`size` elements from `begin` on, per axis; size -1 goes to the end, a negative "
              "begin counts from it.",
       .moves = "x",
       .traits = {Trait::ReadsParts}},
      {.name = "slice_update",
       .since = Opset::CoreML8,
       .parameters = slice_parameters(true),
       .infer = infer_slice_update,
       .evaluate = evaluate_slice_update,
       .doc = "x with the slice that slice_by_index would take replaced by update."},
  };
}

}  // namespace pippin::mil
