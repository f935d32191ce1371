// Random tensors.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <random>

#include <fmt/ranges.h>

#include "pippin/mil/ops/families.h"
#include "pippin/mil/ops/rules.h"

namespace pippin::mil {
namespace {

// Seed -1 requests different numbers each time; the sequences of other seeds are Pippin's own.
std::mt19937_64 generator_of(const OpContext& context) {
  static std::atomic<uint64_t> next{1};
  const int64_t seed = context.int_param("seed");
  if (seed == -1) return std::mt19937_64(std::random_device()() + next.fetch_add(1));
  return std::mt19937_64(static_cast<uint64_t>(seed));
}

// The element type is that of the distribution's parameter, or fp32 if it is absent.
Infos infer_shaped(InferContext& context, std::string_view parameter) {
  const DataType type = context.has(parameter) ? context.input(parameter).type : DataType::Float32;
  return one(tensor_info(type, shape_from(context, "shape")));
}

template <typename Distribution>
Tensors drawn(EvalContext& context, Distribution&& draw) {
  std::mt19937_64 generator = generator_of(context);
  Tensor result(DataType::Float32, context.ints_param("shape"));
  for (double& value : result.values) value = draw(generator);
  return one(std::move(result));
}

// In [0, 1). Written by hand because the standard library's distributions differ between platforms.
double unit(std::mt19937_64& generator) {
  return static_cast<double>(generator() >> 11) * 0x1p-53;
}

Infos infer_uniform(InferContext& context) {
  return infer_shaped(context, "low");
}
Tensors evaluate_uniform(EvalContext& context) {
  const double low = context.float_param("low"), high = context.float_param("high");
  const DataType type = context.has("low") ? context.input("low").type : DataType::Float32;
  return drawn(context, [=](auto& generator) {
    for (;;) {
      const double value = low + (high - low) * unit(generator);
      // Rounding must not reach the end of the range, which is not in it.
      if (!(low < high) || round_to_type(value, type) < high) return value;
    }
  });
}

Infos infer_normal(InferContext& context) {
  return infer_shaped(context, "mean");
}
Tensors evaluate_normal(EvalContext& context) {
  const double mean = context.float_param("mean"), deviation = context.float_param("stddev");
  return drawn(context, [=](auto& generator) {
    const double radius = std::sqrt(-2 * std::log(1 - unit(generator)));
    return mean + deviation * radius * std::cos(2 * M_PI * unit(generator));
  });
}

Infos infer_bernoulli(InferContext& context) {
  return infer_shaped(context, "prob");
}
Tensors evaluate_bernoulli(EvalContext& context) {
  const double probability = context.float_param("prob");
  return drawn(context, [=](auto& generator) { return unit(generator) < probability ? 1.0 : 0.0; });
}

bool takes_logits(const OpContext& context) {
  const std::string mode = context.string_param("mode");
  if (mode != "logits" && mode != "probs") context.reject("mode \"{}\" is unknown", mode);
  return mode == "logits";
}

Infos infer_categorical(InferContext& context) {
  const ValueInfo& x = context.input("x");
  takes_logits(context);
  const int64_t size = context.int_param("size");
  if (x.shape.empty() || size < 0) context.reject("size {}, rank {}", size, x.shape.size());
  Shape shape = x.shape;
  shape.back() = Dim(size);
  return one(tensor_info(x.type, std::move(shape)));
}

Tensors evaluate_categorical(EvalContext& context) {
  const Tensor& x = context.input("x");
  const bool logits = takes_logits(context);
  std::mt19937_64 generator = generator_of(context);
  Dims shape = x.shape;
  const int64_t classes = shape.back(), size = context.int_param("size");
  if (classes < 1) context.reject("no classes");
  shape.back() = size;
  Tensor result(x.type, shape);
  size_t next = 0;
  std::vector<double> weights(static_cast<size_t>(classes));
  for (int64_t row = 0; row < x.size() / classes; ++row) {
    const double* line = x.values.data() + row * classes;
    const double largest = logits ? *std::max_element(line, line + classes) : 0;
    double total = 0;
    for (size_t i = 0; i < weights.size(); ++i) {
      weights[i] = logits ? std::exp(line[i] - largest) : line[i];
      total += weights[i];
    }
    for (int64_t sample = 0; sample < size; ++sample) {
      double left = unit(generator) * total;
      size_t choice = 0;
      while (choice + 1 < weights.size() && left >= weights[choice]) left -= weights[choice++];
      result.values[next++] = static_cast<double>(choice);
    }
  }
  return one(std::move(result));
}

OpDef random_op(std::string_view name, std::vector<Parameter> parameters, InferRule infer,
                EvalRule evaluate, std::string_view doc) {
  parameters.push_back(optional_constant("seed", "i", -1));
  return {.name = name,
          .parameters = std::move(parameters),
          .infer = infer,
          .evaluate = evaluate,
          .doc = doc,
          .pure = false};
}

}  // namespace

std::vector<OpDef> random_ops() {
  return {
      random_op("random_uniform",
                {tensor("shape", "i"), optional_constant("low", "f", 0.0),
                 optional_constant("high", "f", 1.0)},
                infer_uniform, evaluate_uniform,
                "Values from low to high, all equally likely. Seed -1 gives others each time."),
      random_op("random_normal",
                {tensor("shape", "i"), optional_constant("mean", "f", 0.0),
                 optional_constant("stddev", "f", 1.0)},
                infer_normal, evaluate_normal,
                "Normally distributed values. Seed -1 gives others each time."),
      random_op("random_bernoulli", {tensor("shape", "i"), optional_constant("prob", "f", 0.5)},
                infer_bernoulli, evaluate_bernoulli,
                "1 with probability prob, else 0. Seed -1 gives others each time."),
      random_op(
          "random_categorical",
          {tensor("x", "f"), optional_constant("mode", "s", "logits"),
           optional_constant("size", "i", 1)},
          infer_categorical, evaluate_categorical,
          "`size` indices for each line along x's last axis, drawn by the probabilities (mode "
          "probs) or their logarithms (logits) in it. Seed -1 gives others each time."),
  };
}

}  // namespace pippin::mil
