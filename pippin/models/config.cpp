#include "pippin/models/config.h"

#include <algorithm>
#include <cmath>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pippin/base/error.h"

namespace pippin::models {
namespace {

std::string place(const Json& config, std::string_view key) {
  const std::string where = config.where();
  return where.find(": ") == std::string::npos ? fmt::format("{}: {}", where, key)
                                               : fmt::format("{}.{}", where, key);
}

int64_t between(const Json& config, std::string_view key, int64_t value, int64_t max) {
  if (value < 1 || value > max) {
    fail(ErrorCode::InvalidFile, "{}: {} is not between 1 and {}", place(config, key), value, max);
  }
  return value;
}

// Newer configurations put theta and scaling into one object, rope_parameters.
std::optional<Json> rope_object(const Json& config) {
  for (const std::string_view key : {"rope_scaling", "rope_parameters"}) {
    if (auto found = config.find(key)) return found;
  }
  return std::nullopt;
}

}  // namespace

int64_t positive(const Json& config, std::string_view key, int64_t max) {
  if (!config.has(key)) {
    fail(ErrorCode::InvalidFile, "{}: missing", place(config, key));
  }
  return between(config, key, config.get_int(key), max);
}

int64_t positive_or(const Json& config, std::string_view key, int64_t fallback, int64_t max) {
  return between(config, key, config.get_int_or(key, fallback), max);
}

double positive_float_or(const Json& config, std::string_view key, double fallback) {
  const double value = config.get_float_or(key, fallback);
  if (!std::isfinite(value) || value <= 0) {
    fail(ErrorCode::InvalidFile, "{}: {} is not above 0", place(config, key), value);
  }
  return value;
}

void require_multiple(const Json& config, std::string_view key, int64_t value,
                      std::string_view divisor_key, int64_t divisor) {
  if (value % divisor != 0) {
    fail(ErrorCode::InvalidFile, "{}: {} is not a multiple of {} {}", place(config, key), value,
         divisor_key, divisor);
  }
}

nn::Activation activation(const Json& config, std::string_view key, std::string_view fallback,
                          std::initializer_list<std::string_view> allowed) {
  const std::string name = config.get_string_or(key, fallback);
  if (std::find(allowed.begin(), allowed.end(), name) == allowed.end()) {
    fail(ErrorCode::Unsupported, "{}: '{}' is not supported (known: {})", place(config, key), name,
         fmt::join(allowed, ", "));
  }
  if (name == "silu" || name == "swish") return nn::Activation::Silu;
  if (name == "relu") return nn::Activation::Relu;
  if (name == "gelu") return nn::Activation::Gelu;
  return nn::Activation::GeluTanh;  // gelu_new, gelu_pytorch_tanh, gelu_fast
}

nn::RopeScaling rope_scaling(const Json& config) {
  nn::RopeScaling scaling;
  const auto found = rope_object(config);
  if (!found) return scaling;
  const Json& object = *found;
  const std::string kind =
      object.get_string_or("rope_type", object.get_string_or("type", "default"));
  if (kind == "default") return scaling;
  scaling.factor = positive_float_or(object, "factor", 1.0);
  if (!object.has("factor")) {
    fail(ErrorCode::InvalidFile, "{}: missing", place(object, "factor"));
  }
  if (kind == "linear") {
    scaling.kind = nn::RopeScaling::Kind::Linear;
    return scaling;
  }
  if (kind != "llama3") {
    fail(ErrorCode::Unsupported, "{}: '{}' is not supported (known: default, linear, llama3)",
         place(object, "rope_type"), kind);
  }
  scaling.kind = nn::RopeScaling::Kind::Llama3;
  scaling.low_frequency_factor = positive_float_or(object, "low_freq_factor", 1.0);
  scaling.high_frequency_factor = positive_float_or(object, "high_freq_factor", 4.0);
  scaling.original_context = positive(object, "original_max_position_embeddings");
  if (scaling.high_frequency_factor <= scaling.low_frequency_factor) {
    fail(ErrorCode::InvalidFile, "{}: {} is not above low_freq_factor {}",
         place(object, "high_freq_factor"), scaling.high_frequency_factor,
         scaling.low_frequency_factor);
  }
  return scaling;
}

double rope_theta(const Json& config, double fallback) {
  if (const auto object = config.find("rope_parameters")) {
    fallback = positive_float_or(*object, "rope_theta", fallback);
  }
  return positive_float_or(config, "rope_theta", fallback);
}

int64_t choose_context(const Json& config, int64_t wanted, int64_t model_context) {
  constexpr int64_t kDefault = 2048;
  if (wanted == 0) return std::min(model_context, kDefault);
  if (wanted < 2) {
    fail(ErrorCode::InvalidArgument, "a context of {} tokens is too short", wanted);
  }
  if (wanted > model_context) {
    fail(ErrorCode::InvalidArgument, "a context of {} tokens: the model was made for {} ({})",
         wanted, model_context, place(config, "max_position_embeddings"));
  }
  return wanted;
}

}  // namespace pippin::models
