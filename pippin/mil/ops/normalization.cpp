// Normalizations.
#include <cmath>

#include <fmt/ranges.h>

#include "pippin/mil/ops/families.h"
#include "pippin/mil/ops/rules.h"

namespace pippin::mil {
namespace {

Infos infer_layer_norm(InferContext& context) {
  const ValueInfo& x = context.input("x");
  const Dims axes = axes_or_all(context, "axes", static_cast<int64_t>(x.shape.size()));
  for (const std::string_view name : {"gamma", "beta"}) {
    if (!context.has(name)) continue;
    const ValueInfo& parameter = context.input(name);
    if (parameter.shape.size() != axes.size()) {
      context.reject("{} has rank {} for {} axes", name, parameter.shape.size(), axes.size());
    }
    for (size_t i = 0; i < axes.size(); ++i) {
      context.require_equal(parameter.shape[i], x.shape[static_cast<size_t>(axes[i])],
                            "gamma and beta have the sizes of the axes");
    }
  }
  return infer_like_x(context);
}

Tensors evaluate_layer_norm(EvalContext& context) {
  const Tensor& x = context.input("x");
  const Dims axes = axes_or_all(context, "axes", x.rank());
  const Tensor* gamma = context.has("gamma") ? &context.input("gamma") : nullptr;
  const Tensor* beta = context.has("beta") ? &context.input("beta") : nullptr;
  const double epsilon = context.float_param("epsilon");
  const Dims strides = strides_of(x.shape);
  Dims kept_shape, kept_strides, line_shape, line_strides;
  size_t next_axis = 0;
  for (size_t i = 0; i < x.shape.size(); ++i) {
    const bool normalized = next_axis < axes.size() && axes[next_axis] == static_cast<int64_t>(i);
    next_axis += normalized ? 1 : 0;
    (normalized ? line_shape : kept_shape).push_back(x.shape[i]);
    (normalized ? line_strides : kept_strides).push_back(strides[i]);
  }
  std::vector<int64_t> offsets;
  for_each_index(line_shape,
                 [&](const Dims& index) { offsets.push_back(offset_of(index, line_strides)); });
  const auto count = static_cast<double>(offsets.size());
  Tensor result = x;
  for_each_index(kept_shape, [&](const Dims& index) {
    const int64_t start = offset_of(index, kept_strides);
    const auto at = [&](size_t i) -> double& {
      return result.values[static_cast<size_t>(start + offsets[i])];
    };
    double mean = 0, variance = 0;
    for (size_t i = 0; i < offsets.size(); ++i) mean += at(i);
    mean /= count;
    for (size_t i = 0; i < offsets.size(); ++i) variance += (at(i) - mean) * (at(i) - mean);
    variance /= count;
    for (size_t i = 0; i < offsets.size(); ++i) {
      double value = (at(i) - mean) / std::sqrt(variance + epsilon);
      if (gamma != nullptr) value *= gamma->values.at(i);
      if (beta != nullptr) value += beta->values.at(i);
      at(i) = value;
    }
  });
  return one(std::move(result));
}

Infos infer_l2_norm(InferContext& context) {
  if (context.input("x").shape.size() < 3) context.reject("x must have rank 3 or more");
  return infer_like_x(context);
}

Tensors evaluate_l2_norm(EvalContext& context) {
  Tensor result = context.input("x");
  const double epsilon = context.float_param("epsilon");
  const int64_t count = num_elements(Dims(result.shape.end() - 3, result.shape.end()));
  for (int64_t start = 0; count > 0 && start < result.size(); start += count) {
    double* line = result.values.data() + start;
    double sum = 0;
    for (int64_t i = 0; i < count; ++i) sum += line[i] * line[i];
    const double norm = std::sqrt(sum + epsilon);
    for (int64_t i = 0; i < count; ++i) line[i] /= norm;
  }
  return one(std::move(result));
}

void check_channels(InferContext& context, std::string_view name) {
  if (!context.has(name)) return;
  const ValueInfo& parameter = context.input(name);
  if (parameter.shape.size() != 1) context.reject("{} must have rank 1", name);
  context.require_equal(parameter.shape[0], context.input("x").shape[1], "one value per channel");
}

Infos infer_batch_norm(InferContext& context) {
  if (context.input("x").shape.size() < 3) context.reject("x must have rank 3 or more");
  context.input("mean");
  context.input("variance");
  for (const std::string_view name : {"mean", "variance", "gamma", "beta"}) {
    check_channels(context, name);
  }
  // Before CoreML7, x and its parameters have one type. If a converter widened only x, the declared
  // type shows whether the result should be widened too.
  const ValueInfo& x = context.input("x");
  const DataType other = context.input("mean").type;
  const auto& declared = context.operation().outputs();
  const bool follows =
      context.opset() >= Opset::CoreML7 || declared.empty() || declared[0]->type.data_type != other;
  return one(tensor_info(follows ? x.type : other, x.shape));
}

Infos infer_instance_norm(InferContext& context) {
  const size_t rank = context.input("x").shape.size();
  if (rank < 3) context.reject("x must have rank 3 or more");
  check_channels(context, "gamma");
  check_channels(context, "beta");
  return infer_like_x(context);
}

double channel_value(const EvalContext& context, std::string_view name, int64_t channel,
                     double absent) {
  if (!context.has(name)) return absent;
  return context.input(name).values.at(static_cast<size_t>(channel));
}

template <bool instance>
Tensors evaluate_channel_norm(EvalContext& context) {
  Tensor result = context.input("x");
  const double epsilon = context.float_param("epsilon");
  const AxisView view(result.shape, 1);
  for (int64_t o = 0; o < view.outer; ++o) {
    for (int64_t c = 0; c < view.size; ++c) {
      double* line = result.values.data() + view.at(o, c, 0);
      double mean = 0, variance = 0;
      if (instance) {
        for (int64_t i = 0; i < view.inner; ++i) mean += line[i];
        mean /= static_cast<double>(view.inner);
        for (int64_t i = 0; i < view.inner; ++i) variance += (line[i] - mean) * (line[i] - mean);
        variance /= static_cast<double>(view.inner);
      } else {
        mean = channel_value(context, "mean", c, 0);
        variance = channel_value(context, "variance", c, 1);
      }
      const double scale = channel_value(context, "gamma", c, 1) / std::sqrt(variance + epsilon);
      const double shift = channel_value(context, "beta", c, 0);
      for (int64_t i = 0; i < view.inner; ++i) line[i] = (line[i] - mean) * scale + shift;
    }
  }
  return one(std::move(result));
}

}  // namespace

std::vector<OpDef> normalization_ops() {
  return {
      {"layer_norm",
       Opset::CoreML5,
       {tensor("x", "f"), optional_constant("axes", "i"), optional_tensor("gamma", "f"),
        optional_tensor("beta", "f"), optional_constant("epsilon", "f", 1e-5)},
       infer_layer_norm,
       evaluate_layer_norm,
       "(x - mean) / sqrt(variance + epsilon) with the statistics taken over the axes together, "
       "all where absent; then times gamma plus beta, which have the axes' shape."},
      {"l2_norm",
       Opset::CoreML5,
       {tensor("x", "f"), optional_constant("epsilon", "f", 1e-6)},
       infer_l2_norm,
       evaluate_l2_norm,
       "x / sqrt(sum of x * x + epsilon), the sum over the last three axes."},
      {"batch_norm",
       Opset::CoreML5,
       {tensor("x", "f"), constant("mean", "f"), constant("variance", "f"),
        optional_constant("gamma", "f"), optional_constant("beta", "f"),
        optional_constant("epsilon", "f", 1e-5)},
       infer_batch_norm,
       evaluate_channel_norm<false>,
       "gamma * (x - mean) / sqrt(variance + epsilon) + beta, each per channel (axis 1)."},
      {"instance_norm",
       Opset::CoreML5,
       {tensor("x", "f"), optional_constant("gamma", "f"), optional_constant("beta", "f"),
        optional_constant("epsilon", "f", 1e-5)},
       infer_instance_norm,
       evaluate_channel_norm<true>,
       "gamma * (x - mean) / sqrt(variance + epsilon) + beta with the statistics of each channel "
       "(axis 1) of each batch over the other axes."},
  };
}

}  // namespace pippin::mil
