// Ops that move elements around: padding, reversing, windows.
#include <algorithm>

#include <fmt/ranges.h>

#include "pippin/mil/ops/families.h"
#include "pippin/mil/ops/rules.h"

namespace pippin::mil {
namespace {

enum class PadMode { Constant, Reflect, Replicate };

PadMode pad_mode(const OpContext& context) {
  const std::string mode = context.string_param("mode");
  if (mode == "constant") return PadMode::Constant;
  if (mode == "reflect") return PadMode::Reflect;
  if (mode == "replicate") return PadMode::Replicate;
  context.reject("mode \"{}\" is unknown", mode);
}

Infos infer_pad(InferContext& context) {
  const ValueInfo &x = context.input("x"), &pad = context.input("pad");
  const PadMode mode = pad_mode(context);
  const auto count = num_elements(pad.shape).try_constant();
  if (pad.shape.size() != 1 || !count || *count % 2 != 0 ||
      *count / 2 > static_cast<int64_t>(x.shape.size())) {
    context.reject("pad of shape {} for rank {}", to_string(pad.shape), x.shape.size());
  }
  Shape shape = x.shape;
  const size_t first = shape.size() - static_cast<size_t>(*count / 2);
  for (size_t i = first; i < shape.size(); ++i) {
    if (!pad.elements) {
      shape[i] = context.data_dependent(fmt::format("dim{}", i), Dim(INT64_MAX));
      continue;
    }
    for (const size_t side : {size_t{0}, size_t{1}}) {
      const Dim& amount = (*pad.elements)[2 * (i - first) + side];
      context.require_at_least(amount, Dim(0), "an amount of padding");
      if (mode == PadMode::Reflect) {
        context.require_at_least(x.shape[i] - Dim(1), amount, "reflected elements");
      }
      shape[i] = shape[i] + amount;
    }
  }
  return one(tensor_info(x.type, std::move(shape)));
}

Tensors evaluate_pad(EvalContext& context) {
  const Tensor& x = context.input("x");
  const PadMode mode = pad_mode(context);
  const Dims pad = context.ints_param("pad");
  const double filler = context.float_param("constant_val");
  if (pad.size() % 2 != 0 || pad.size() / 2 > x.shape.size()) context.reject("pad {}", pad);
  Dims shape = x.shape, before(x.shape.size(), 0);
  const size_t first = shape.size() - pad.size() / 2;
  for (size_t i = first; i < shape.size(); ++i) {
    before[i] = pad[2 * (i - first)];
    const int64_t after = pad[2 * (i - first) + 1];
    const int64_t most = mode == PadMode::Reflect ? x.shape[i] - 1 : INT32_MAX;
    if (before[i] < 0 || after < 0 || before[i] > most || after > most) {
      context.reject("pad {} for shape {}", pad, x.shape);
    }
    if (mode == PadMode::Replicate && x.shape[i] == 0) context.reject("nothing to replicate");
    shape[i] += before[i] + after;
  }
  const Dims strides = strides_of(x.shape);
  Tensor result(x.type, shape);
  size_t next = 0;
  for_each_index(shape, [&](const Dims& index) {
    int64_t offset = 0;
    bool inside = true;
    for (size_t i = 0; i < index.size(); ++i) {
      int64_t place = index[i] - before[i];
      const int64_t last = x.shape[i] - 1;
      if (mode == PadMode::Replicate) place = std::clamp<int64_t>(place, 0, last);
      if (mode == PadMode::Reflect && place < 0) place = -place;
      if (mode == PadMode::Reflect && place > last) place = 2 * last - place;
      inside = inside && place >= 0 && place <= last;
      offset += place * strides[i];
    }
    result.values[next++] = inside ? x.values[static_cast<size_t>(offset)] : filler;
  });
  return one(std::move(result));
}

Infos infer_reverse(InferContext& context) {
  axes_or_all(context, "axes", static_cast<int64_t>(context.input("x").shape.size()));
  return infer_like_x(context);
}

Tensors evaluate_reverse(EvalContext& context) {
  const Tensor& x = context.input("x");
  const Dims axes = axes_or_all(context, "axes", x.rank());
  Dims strides = strides_of(x.shape);
  int64_t start = 0;
  for (const int64_t axis : axes) {
    const auto i = static_cast<size_t>(axis);
    start += (x.shape[i] - 1) * strides[i];
    strides[i] = -strides[i];
  }
  Tensor result(x.type, x.shape);
  size_t next = 0;
  for_each_index(x.shape, [&](const Dims& index) {
    result.values[next++] = x.values[static_cast<size_t>(start + offset_of(index, strides))];
  });
  return one(std::move(result));
}

Infos infer_reverse_sequence(InferContext& context) {
  const ValueInfo &x = context.input("x"), &lengths = context.input("lengths");
  const auto rank = static_cast<int64_t>(x.shape.size());
  const int64_t sequence = normalize_axis(context, context.int_param("seq_axis"), rank);
  const int64_t batch = normalize_axis(context, context.int_param("batch_axis"), rank);
  if (sequence == batch || lengths.shape.size() != 1) {
    context.reject("seq_axis {}, batch_axis {}, lengths of rank {}", sequence, batch,
                   lengths.shape.size());
  }
  context.require_equal(lengths.shape[0], x.shape[static_cast<size_t>(batch)], "the lengths");
  return infer_like_x(context);
}

Tensors evaluate_reverse_sequence(EvalContext& context) {
  const Tensor &x = context.input("x"), &lengths = context.input("lengths");
  const auto sequence =
      static_cast<size_t>(normalize_axis(context, context.int_param("seq_axis"), x.rank()));
  const auto batch =
      static_cast<size_t>(normalize_axis(context, context.int_param("batch_axis"), x.rank()));
  const Dims strides = strides_of(x.shape);
  Tensor result(x.type, x.shape);
  size_t next = 0;
  for_each_index(x.shape, [&](const Dims& index) {
    const auto length = static_cast<int64_t>(lengths.values.at(static_cast<size_t>(index[batch])));
    if (length < 0 || length > x.shape[sequence]) context.reject("a length is {}", length);
    int64_t offset = offset_of(index, strides);
    if (index[sequence] < length) {
      offset += (length - 1 - 2 * index[sequence]) * strides[sequence];
    }
    result.values[next++] = x.values[static_cast<size_t>(offset)];
  });
  return one(std::move(result));
}

struct Windows {
  size_t axis;
  int64_t size, stride;
};

Windows windows_of(const OpContext& context, size_t rank) {
  const Windows windows{static_cast<size_t>(normalize_axis(context, context.int_param("axis"),
                                                           static_cast<int64_t>(rank))),
                        context.int_param("size"), context.int_param("stride")};
  if (windows.size < 1 || windows.stride < 1) {
    context.reject("size {}, stride {}", windows.size, windows.stride);
  }
  return windows;
}

Infos infer_sliding_windows(InferContext& context) {
  const ValueInfo& x = context.input("x");
  const Windows windows = windows_of(context, x.shape.size());
  Shape shape = x.shape;
  context.require_at_least(shape[windows.axis], Dim(windows.size), "one window");
  shape[windows.axis] =
      floor_div(shape[windows.axis] - Dim(windows.size), Dim(windows.stride)) + Dim(1);
  shape.insert(shape.begin() + static_cast<int64_t>(windows.axis) + 1, Dim(windows.size));
  return one(tensor_info(x.type, std::move(shape)));
}

Tensors evaluate_sliding_windows(EvalContext& context) {
  const Tensor& x = context.input("x");
  const Windows windows = windows_of(context, x.shape.size());
  Dims shape = x.shape, strides = strides_of(x.shape);
  if (shape[windows.axis] < windows.size) context.reject("an axis of {}", shape[windows.axis]);
  shape[windows.axis] = (shape[windows.axis] - windows.size) / windows.stride + 1;
  const auto after = static_cast<int64_t>(windows.axis) + 1;
  shape.insert(shape.begin() + after, windows.size);
  strides.insert(strides.begin() + after, strides[windows.axis]);
  strides[windows.axis] *= windows.stride;
  Tensor result(x.type, shape);
  size_t next = 0;
  for_each_index(shape, [&](const Dims& index) {
    result.values[next++] = x.values[static_cast<size_t>(offset_of(index, strides))];
  });
  return one(std::move(result));
}

template <typename T>
std::vector<T> flattened(const OpContext& context, const std::vector<T>& shape) {
  int64_t axis = context.int_param("axis");
  const auto rank = static_cast<int64_t>(shape.size());
  if (axis < 0) axis += rank;
  if (axis < 0 || axis > rank) context.reject("axis {} for rank {}", axis, rank);
  std::vector<T> result(2, T(1));
  for (int64_t i = 0; i < rank; ++i) {
    T& part = result[i < axis ? 0 : 1];
    part = part * shape[static_cast<size_t>(i)];
  }
  return result;
}

Infos infer_flatten2d(InferContext& context) {
  const ValueInfo& x = context.input("x");
  return one(tensor_info(x.type, flattened(context, x.shape)));
}
Tensors evaluate_flatten2d(EvalContext& context) {
  const Tensor& x = context.input("x");
  return one(reshaped(x, flattened(context, x.shape)));
}

// The slices of the reference shapes that form the new shape.
template <typename T, typename Sizes>
std::vector<T> shape_like(const OpContext& context, size_t count, const Sizes& sizes,
                          const std::vector<double>& begins, const std::vector<double>& ends,
                          const std::vector<double>& masks) {
  if (begins.size() != count || ends.size() != count || masks.size() != count) {
    context.reject("{} tensors, {} begins, {} ends, {} masks", count, begins.size(), ends.size(),
                   masks.size());
  }
  std::vector<T> shape;
  for (size_t i = 0; i < count; ++i) {
    const std::vector<T>& own = sizes(i);
    const auto rank = static_cast<int64_t>(own.size());
    const auto bound = [&](double value) {
      const auto place = static_cast<int64_t>(value);
      return std::clamp<int64_t>(place < 0 ? place + rank : place, 0, rank);
    };
    const int64_t end = masks[i] != 0 ? rank : bound(ends[i]);
    for (int64_t at = bound(begins[i]); at < end; ++at) {
      shape.push_back(own[static_cast<size_t>(at)]);
    }
  }
  return shape;
}

std::vector<double> known_scalars(InferContext& context, std::string_view parameter) {
  std::vector<double> values;
  for (const ValueInfo* info : context.inputs(parameter)) {
    if (!info->elements || info->elements->size() != 1 || !info->elements->front().is_constant()) {
      context.reject("{} must be constant scalars", parameter);
    }
    values.push_back(static_cast<double>(info->elements->front().constant()));
  }
  return values;
}
std::vector<double> scalars(EvalContext& context, std::string_view parameter) {
  std::vector<double> values;
  for (const Tensor* value : context.inputs(parameter)) values.push_back(value->values.at(0));
  return values;
}

Infos infer_reshape_like(InferContext& context) {
  const ValueInfo& x = context.input("x");
  const auto references = context.inputs("ref_tensors");
  Shape shape = shape_like<Dim>(
      context, references.size(), [&](size_t i) -> const Shape& { return references[i]->shape; },
      known_scalars(context, "begins"), known_scalars(context, "ends"),
      known_scalars(context, "end_masks"));
  context.require_equal(num_elements(x.shape), num_elements(shape),
                        "the numbers of elements before and after");
  return one(tensor_info(x.type, std::move(shape)));
}

Tensors evaluate_reshape_like(EvalContext& context) {
  const Tensor& x = context.input("x");
  const auto references = context.inputs("ref_tensors");
  Dims shape = shape_like<int64_t>(
      context, references.size(), [&](size_t i) -> const Dims& { return references[i]->shape; },
      scalars(context, "begins"), scalars(context, "ends"), scalars(context, "end_masks"));
  if (num_elements(shape) != x.size()) context.reject("shape {} of {}", shape, x.shape);
  return one(reshaped(x, std::move(shape)));
}

}  // namespace

std::vector<OpDef> rearrange_ops() {
  return {
      {"pad",
       Opset::CoreML5,
       {tensor("x"), tensor("pad", "i"), optional_constant("mode", "s", "constant"),
        optional_constant("constant_val", "fib", 0.0)},
       infer_pad,
       evaluate_pad,
       "x with pad[2i] elements before and pad[2i + 1] after, for the last axes: constant_val, or "
       "reflected without the edge, or the edge replicated."},
      {.name = "reverse",
       .parameters = {tensor("x"), optional_constant("axes", "i")},
       .infer = infer_reverse,
       .evaluate = evaluate_reverse,
       .doc = "x backwards along the axes, all where absent.",
       .moves = "x",
       .traits = {Trait::Permutes}},
      {.name = "reverse_sequence",
       .parameters = {tensor("x"), tensor("lengths", "i"), optional_constant("seq_axis", "i", 0),
                      optional_constant("batch_axis", "i", 0)},
       .infer = infer_reverse_sequence,
       .evaluate = evaluate_reverse_sequence,
       .doc = "x with the first lengths[b] elements along seq_axis backwards, for each b along "
              "batch_axis.",
       .moves = "x",
       .traits = {Trait::Permutes}},
      {.name = "sliding_windows",
       .parameters = {tensor("x"), constant("axis", "i"), constant("size", "i"),
                      optional_constant("stride", "i", 1)},
       .infer = infer_sliding_windows,
       .evaluate = evaluate_sliding_windows,
       .doc = "All windows of `size` elements along axis, `stride` apart; they lie along a new "
              "axis after it.",
       .moves = "x"},
      {.name = "flatten2d",
       .parameters = {tensor("x"), optional_constant("axis", "i", 1)},
       .infer = infer_flatten2d,
       .evaluate = evaluate_flatten2d,
       .doc = "x as a matrix: the axes before `axis` together, and the others.",
       .moves = "x",
       .traits = {Trait::Permutes, Trait::View}},
      {.name = "reshape_like",
       .since = Opset::CoreML6,
       .parameters = {tensor("x"), tuple("ref_tensors"), tuple("begins", "i"), tuple("ends", "i"),
                      tuple("end_masks", "b")},
       .infer = infer_reshape_like,
       .evaluate = evaluate_reshape_like,
       .doc = "x in the shape made of the sizes begins[i] to ends[i] (to the last with its end "
              "mask) of each reference tensor.",
       .moves = "x",
       .traits = {Trait::Permutes, Trait::View}},
  };
}

}  // namespace pippin::mil
