// Convolutions take over factors and terms of their output channels.
#include <cmath>

#include "pippin/mil/networks/graph.h"
#include "pippin/mil/networks/scaled_source.h"
#include "pippin/mil/networks/simplify_rules.h"

namespace pippin::mil::networks {
namespace {

// x * scale + shift for each channel.
struct Channels {
  std::vector<double> scale, shift;
};

std::optional<Channels> of_norm(const Operation& norm, size_t count) {
  const auto mean = constant_numbers(norm, "mean"), variance = constant_numbers(norm, "variance");
  const auto or_ones = [&](std::string_view name, double absent) {
    return norm.find_input(name) == nullptr ? std::vector<double>(count, absent)
                                            : constant_numbers(norm, name);
  };
  const std::optional<std::vector<double>> gamma = or_ones("gamma", 1), beta = or_ones("beta", 0);
  const auto epsilon = constant_number(norm, "epsilon");
  if (!epsilon) return std::nullopt;
  Channels channels{std::vector<double>(count), std::vector<double>(count)};
  for (const auto* list : {&mean, &variance, &gamma, &beta}) {
    if (!*list || (*list)->size() != count) return std::nullopt;
  }
  for (size_t i = 0; i < count; ++i) {
    channels.scale[i] = (*gamma)[i] / std::sqrt((*variance)[i] + *epsilon);
    channels.shift[i] = (*beta)[i] - (*mean)[i] * channels.scale[i];
  }
  return channels;
}

// The constant operand y of a sum or product: one number, or [..., C, 1, 1].
std::optional<std::vector<double>> by_channel(const Operation& operation, size_t count) {
  const Value* value = operation.constant_input("y");
  if (value == nullptr || value->type.data_type != DataType::Float32) return std::nullopt;
  const std::vector<int64_t>& dims = value->type.dims;
  auto numbers = constant_numbers(operation, "y", static_cast<int64_t>(count));
  if (!numbers) return std::nullopt;
  const bool fits = dims.size() >= 3 && dims.size() <= 4 && dims.end()[-1] == 1 &&
                    dims.end()[-2] == 1 && dims.end()[-3] == static_cast<int64_t>(count);
  if (numbers->size() == 1 && dims.size() <= 4) numbers->resize(count, numbers->front());
  return fits || (count > 0 && value->type.num_elements() == 1) ? numbers : std::nullopt;
}

std::optional<Channels> channels_of(const Operation& operation, size_t count) {
  if (operation.type() == "batch_norm") return of_norm(operation, count);
  auto numbers = by_channel(operation, count);
  if (!numbers) return std::nullopt;
  if (operation.type() == "mul") return Channels{*numbers, std::vector<double>(count)};
  return Channels{std::vector<double>(count, 1), *numbers};
}

bool all_finite(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(),
                     [](double value) { return std::isfinite(static_cast<float>(value)); });
}

}  // namespace

std::unique_ptr<Operation> fold_channels(const Operation& last, const Rewriting& rewriting) {
  const std::string& type = last.type();
  if (type != "batch_norm" && type != "mul" && type != "add") return nullptr;
  const Operation* conv = own_producer(last, "x", "conv", rewriting);
  if (conv == nullptr || conv->output()->type.dims.size() != last.output()->type.dims.size()) {
    return nullptr;
  }
  const Value* weight = conv->constant_input("weight");
  if (weight == nullptr || weight->type.data_type != DataType::Float32 ||
      weight->source == nullptr || weight->type.dims.size() != 4) {
    return nullptr;
  }
  const auto count = static_cast<size_t>(weight->type.dims.front());
  const bool biased = conv->find_input("bias") != nullptr;
  const std::optional<std::vector<double>> bias =
      biased ? constant_numbers(*conv, "bias") : std::vector<double>(count);
  auto channels = channels_of(last, count);
  if (!channels || !bias || bias->size() != count) return nullptr;
  for (size_t i = 0; i < count; ++i) channels->shift[i] += (*bias)[i] * channels->scale[i];
  if (!all_finite(channels->scale) || !all_finite(channels->shift)) return nullptr;
  auto result = copied(*conv);
  if (type != "add") {
    const std::vector<float> scale(channels->scale.begin(), channels->scale.end());
    result->inputs()["weight"] = {rewriting.add_constant(
        Value::of_source(weight->type, scaled_source(weight->source, scale)))};
  }
  result->inputs()["bias"] = {rewriting.add_constant(
      Value::of_floats(DataType::Float32, channels->shift, {static_cast<int64_t>(count)}))};
  return result;
}

}  // namespace pippin::mil::networks
