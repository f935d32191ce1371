#include "pippin/doctor/magnitudes.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "pippin/base/error.h"
#include "pippin/base/log.h"
#include "pippin/doctor/reductions.h"
#include "pippin/mil/elements.h"
#include "pippin/mil/ops/product.h"
#include "pippin/mil/walk.h"

namespace pippin::doctor {
namespace {

using mil::Operation;
using mil::Var;

constexpr double kLargest = 1e30;  // so that intermediate results stay finite

constexpr double kImageRms = 147;  // of bytes uniformly distributed from 0 to 255

// Elements are read in blocks at evenly spaced positions. 24 bytes hold an integral number of
// elements of every width.
constexpr uint64_t kSampleBlocks = 8, kSampleBytes = 24 * 64;

// Systems map megabytes around each read, also of neighbouring weights.
constexpr int kConstantsPerRelease = 32;

double square_sum(mil::DataType type, ByteSpan bytes, uint64_t elements) {
  double sum = 0;
  for (uint64_t i = 0; i < elements; ++i) {
    const double value = mil::bits_to_double(type, mil::element_bits(type, bytes, i));
    if (std::isfinite(value)) sum += value * value;
  }
  return sum;
}

double number_of(const Operation& operation, std::string_view parameter, double fallback) {
  const mil::Value* value = operation.constant_input(parameter);
  if (value == nullptr || !value->type.is_tensor() || value->type.num_elements() != 1) {
    return fallback;
  }
  return value->to_doubles().front();
}

int64_t size_of_axes(const std::vector<Extent>& extents, const std::vector<int64_t>& axes) {
  int64_t size = 1;
  for (const int64_t axis : axes) {
    if (axis < 0 || axis >= static_cast<int64_t>(extents.size())) continue;
    const Extent& extent = extents[static_cast<size_t>(axis)];
    size = std::min(size * std::max<int64_t>(extent.lower, 1), kNoLimit);
  }
  return size;
}

// The inputs of a compressed weight: its codes times its scales, or its palette.
double of_compressed(const Operation& operation) {
  const auto of = [&](const char* name) -> std::optional<double> {
    const mil::BoundArgument bound = mil::find_argument(operation, name);
    const mil::Value* value =
        bound.attribute != nullptr ? bound.attribute : operation.constant_input(name);
    return value == nullptr ? std::nullopt : sampled_rms(*value);
  };
  if (const auto palette = of("lut")) return *palette;
  constexpr std::array kCodes = {"data", "quantized_data", "nonzero_data"};
  double codes = 1;
  for (const char* name : kCodes) {
    if (const auto found = of(name)) codes = *found;
  }
  return codes * of("scale").value_or(1);
}

}  // namespace

std::optional<double> sampled_rms(const mil::Value& value) {
  const mil::DataType type = value.type.data_type;
  if (!value.type.is_static() || type == mil::DataType::String) return std::nullopt;
  const auto elements = static_cast<uint64_t>(value.type.num_elements());
  if (elements == 0) return std::nullopt;
  const uint64_t size = mil::packed_size(type, value.type.num_elements());
  if (value.source == nullptr && value.bytes.size() < size) return std::nullopt;
  const auto width = static_cast<uint64_t>(mil::bit_width(type));
  const uint64_t block = std::min<uint64_t>(kSampleBytes, size);
  const uint64_t count = std::min<uint64_t>(kSampleBlocks, size / block);
  double sum = 0;
  uint64_t read = 0;
  try {
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t offset = (size - block) / std::max<uint64_t>(count - 1, 1) * i / 24 * 24;
      std::array<std::byte, kSampleBytes> bytes{};
      if (value.source != nullptr) {
        value.source->read(offset, MutableByteSpan(bytes.data(), block));
      } else {
        std::copy_n(value.bytes.begin() + static_cast<std::ptrdiff_t>(offset), block,
                    bytes.begin());
      }
      const uint64_t here = std::min(block * 8 / width, elements);
      sum += square_sum(type, ByteSpan(bytes.data(), block), here);
      read += here;
    }
    if (value.source != nullptr) value.source->release();
  } catch (const Error& error) {
    log_debug("a weight cannot be read: {}", error.what());
    return std::nullopt;
  }
  return read == 0 ? std::nullopt : std::optional(std::sqrt(sum / static_cast<double>(read)));
}

Magnitudes::Magnitudes(const FunctionView& function, const mil::Program& program)
    : function_(function) {
  for (const mil::Feature& feature : function.description().inputs) {
    if (feature.kind != mil::Feature::Kind::Image) continue;
    known_[function.function().find_input(feature.name)] = kImageRms;
  }
  int constants = 0;
  for (const Operation* operation : function.operations()) {
    const bool reads = mil::has_trait(*operation, mil::Trait::Constant);
    if (reads && ++constants % kConstantsPerRelease == 0) mil::release_weights(program);
    const double result = std::min(result_of(*operation), kLargest);
    for (const auto& output : operation->outputs()) {
      known_[output.get()] = std::isfinite(result) ? result : kLargest;
    }
  }
  mil::release_weights(program);
}

double Magnitudes::rms(const Var& var) const {
  const auto found = known_.find(&var);
  return found == known_.end() ? 1 : found->second;
}

double Magnitudes::rms(const mil::Binding& binding) const {
  if (const auto* var = std::get_if<Var*>(&binding)) return rms(**var);
  return sampled_rms(std::get<mil::Value>(binding)).value_or(1);
}

double Magnitudes::rms(const Operation& operation, std::string_view parameter) const {
  const mil::Argument* argument = operation.find_input(parameter);
  return argument == nullptr || argument->empty() ? 1 : rms(argument->front());
}

double Magnitudes::largest_input(const Operation& operation) const {
  double largest = 0;
  for (const auto& [name, argument] : operation.inputs()) {
    for (const mil::Binding& binding : argument) {
      const auto* var = std::get_if<Var*>(&binding);
      if (var == nullptr || !(*var)->type.is_tensor()) continue;
      if (mil::is_float(function_.type_of(**var))) largest = std::max(largest, rms(**var));
    }
  }
  return largest == 0 ? 1 : largest;
}

double Magnitudes::result_of_product(const Operation& operation) const {
  const auto product = mil::product_of(operation);
  if (!product || product->operands[0].binding == nullptr ||
      product->operands[1].binding == nullptr) {
    return largest_input(operation);
  }
  const auto is_mean = [&](const mil::Product::Operand& one) {
    const Var* var = one.var();
    return var != nullptr && convex_.contains(var);
  };
  const auto& [x, weight] = product->operands;
  if (is_mean(x)) return rms(*weight.binding);
  if (is_mean(weight)) return rms(*x.binding);
  std::vector<Extent> sizes;
  if (const Var* var = weight.var()) sizes = function_.extents(*var);
  const auto terms = static_cast<double>(size_of_axes(sizes, weight.summed)) *
                     static_cast<double>(size_of_axes(sizes, weight.others));
  const double bias = operation.find_input("bias") == nullptr ? 0 : rms(operation, "bias");
  return std::hypot(rms(*x.binding) * rms(*weight.binding) * std::sqrt(terms), bias);
}

double Magnitudes::elementwise(const Operation& operation) const {
  const std::string& type = operation.type();
  const double x = rms(operation, "x");
  if (type == "add" || type == "sub") return std::hypot(x, rms(operation, "y"));
  if (type == "mul") return x * rms(operation, "y");
  if (type == "real_div") return x / std::max(rms(operation, "y"), 1 / kLargest);
  if (type == "pow") return std::pow(x, number_of(operation, "y", 1));
  if (type == "square") return x * x;
  if (type == "sqrt") return std::sqrt(x);
  if (type == "rsqrt" || type == "inverse") {
    const double root = type == "rsqrt" ? std::sqrt(x) : x;
    return 1 / std::max(root, 1 / kLargest);
  }
  // Roughly half of the values of a symmetric x.
  constexpr double kHalf = 0.7;
  if (type == "relu" || type == "silu" || type == "gelu") return kHalf * x;
  if (type == "exp" || type == "exp2") return std::exp(std::min(x, 60.0));
  constexpr std::array kBounded = {"sigmoid", "tanh", "sin", "cos", "erf", "sigmoid_hard"};
  if (std::find(kBounded.begin(), kBounded.end(), type) != kBounded.end()) return std::min(x, 1.0);
  return largest_input(operation);
}

double Magnitudes::result_of(const Operation& operation) {
  const std::string& type = operation.type();
  if (const mil::Value* value = operation.constant_value()) {
    return sampled_rms(*value).value_or(1);
  }
  if (mil::has_trait(operation, mil::Trait::Compressed)) return of_compressed(operation);
  if (mil::is_product(operation)) return result_of_product(operation);
  if (type == "scaled_dot_product_attention") return rms(operation, "value");
  if (type == "softmax") {
    convex_[operation.output()] = true;
    return 1;
  }
  if (type == "layer_norm" || type == "instance_norm" || type == "batch_norm" ||
      type == "l2_norm") {
    return operation.find_input("gamma") == nullptr ? 1 : rms(operation, "gamma");
  }
  if (type == "gather" || type == "gather_along_axis") return rms(operation, "x");
  if (type == "reduce_sum" || type == "reduce_sum_square" || type == "cumsum") {
    const double x = rms(operation, "x");
    return terms_of(function_, operation) * (type == "reduce_sum_square" ? x * x : x);
  }
  if (type == "reduce_max") return kPeakOfRms * rms(operation, "x");
  return elementwise(operation);
}

}  // namespace pippin::doctor
