// Constants, identity, and tensors made from a shape alone.
#include <cmath>

#include <fmt/ranges.h>

#include "pippin/mil/ops/families.h"
#include "pippin/mil/ops/rules.h"

namespace pippin::mil {
namespace {

const Value& value_of(const OpContext& context) {
  const Value* value = context.operation().constant_value();
  if (value == nullptr) context.reject("the attribute 'val' is missing");
  return *value;
}

Infos infer_const(InferContext& context) {
  const Value& value = value_of(context);
  return one(value_info(value));
}
Tensors evaluate_const(EvalContext& context) {
  Tensor result = to_tensor(value_of(context));
  result.can_grow = false;  // a list's length is known; see infer_const
  return one(std::move(result));
}

Infos infer_identity(InferContext& context) {
  ValueInfo info = context.input("x");
  info.constant = nullptr;
  return one(std::move(info));
}
Tensors evaluate_identity(EvalContext& context) {
  return one(context.input("x"));
}

DataType value_type(InferContext& context) {
  return context.has("value") ? context.input("value").type : DataType::Float32;
}

Infos infer_fill(InferContext& context) {
  return one(tensor_info(value_type(context), shape_from(context, "shape")));
}
Tensors evaluate_fill(EvalContext& context) {
  Tensor result(DataType::Float32, context.ints_param("shape"));
  result.values.assign(result.values.size(), context.float_param("value"));
  return one(std::move(result));
}

Infos infer_fill_like(InferContext& context) {
  return one(tensor_info(value_type(context), context.input("ref_tensor").shape));
}
Tensors evaluate_fill_like(EvalContext& context) {
  Tensor result(DataType::Float32, context.input("ref_tensor").shape);
  result.values.assign(result.values.size(), context.float_param("value"));
  return one(std::move(result));
}

// ceil((end - start) / step), at least 0.
double range_count(const OpContext& context, double start, double end, double step) {
  if (step == 0 || std::isnan(step)) context.reject("the step is {}", step);
  const double count = std::ceil((end - start) / step);
  if (std::isnan(count) || count > 0x1p53) {
    context.reject("from {} to {} in steps of {}", start, end, step);
  }
  return count < 0 ? 0 : count;
}

std::optional<double> known_scalar(InferContext& context, std::string_view parameter) {
  const ValueInfo& info = context.input(parameter);
  const bool known = info.constant != nullptr || (info.elements && info.elements->size() == 1 &&
                                                  info.elements->front().is_constant());
  if (!known) return std::nullopt;
  return context.float_param(parameter);
}

Infos infer_range(InferContext& context) {
  const ValueInfo &start = context.input("start"), &end = context.input("end"),
                  &step = context.input("step");
  if (end.type != start.type || step.type != start.type) {
    context.reject("start, end and step of different types");
  }
  Dim count;
  const auto first = known_scalar(context, "start"), last = known_scalar(context, "end"),
             stride = known_scalar(context, "step");
  const auto single = [](const ValueInfo& info) {
    return info.elements && info.elements->size() == 1;
  };
  if (first && last && stride) {
    count = Dim(static_cast<int64_t>(range_count(context, *first, *last, *stride)));
  } else if (single(start) && single(end) && stride && *stride > 0) {
    const auto by = static_cast<int64_t>(*stride);
    const Dim length = end.elements->front() - start.elements->front();
    count = maximum(Dim(0), floor_div(length + Dim(by - 1), Dim(by)));
  } else {
    count = context.data_dependent("count", Dim(INT64_MAX));
  }
  return one(tensor_info(start.type, {count}));
}

Tensors evaluate_range(EvalContext& context) {
  const double start = context.float_param("start"), step = context.float_param("step");
  const double count = range_count(context, start, context.float_param("end"), step);
  Tensor result(context.input("start").type, {static_cast<int64_t>(count)});
  for (size_t i = 0; i < result.values.size(); ++i) {
    result.values[i] = start + static_cast<double>(i) * step;
  }
  return one(std::move(result));
}

}  // namespace

std::vector<OpDef> constant_ops() {
  return {
      {.name = "const",
       .infer = infer_const,
       .evaluate = evaluate_const,
       .doc = "The value of its attribute val.",
       .traits = {Trait::Constant}},
      {.name = "identity",
       .parameters = {tensor("x", "fibsl")},
       .infer = infer_identity,
       .evaluate = evaluate_identity,
       .doc = "A copy of x.",
       .moves = "x",
       .traits = {Trait::Permutes, Trait::View, Trait::Converts, Trait::Elementwise}},
      {.name = "fill",
       .parameters = {tensor("shape", "i"), optional_constant("value", "fib", 0.0)},
       .infer = infer_fill,
       .evaluate = evaluate_fill,
       .doc = "A tensor of this shape with value everywhere, of value's type."},
      {.name = "fill_like",
       .since = Opset::CoreML6,
       .parameters = {tensor("ref_tensor"), optional_constant("value", "fib", 0.0)},
       .infer = infer_fill_like,
       .evaluate = evaluate_fill_like,
       .doc = "A tensor of ref_tensor's shape with value everywhere, of value's type."},
      {.name = "range_1d",
       .parameters = {tensor("start", "fi"), tensor("end", "fi"), tensor("step", "fi")},
       .infer = infer_range,
       .evaluate = evaluate_range,
       .doc = "start, start + step, ... up to but not including end: ceil((end - start) / step) "
              "elements."},
  };
}

}  // namespace pippin::mil
