// Reading config.json: every value with its default and its limits, every error with key and
// number.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "pippin/io/json.h"
#include "pippin/nn/mlp.h"
#include "pippin/nn/rope.h"

namespace pippin::models {

// No model is wider, and products of two sizes stay far from overflow.
inline constexpr int64_t kMaxSize = int64_t{1} << 24;

// An integer between 1 and `max`; without a default the key has to be there.
int64_t positive(const Json& config, std::string_view key, int64_t max = kMaxSize);
int64_t positive_or(const Json& config, std::string_view key, int64_t fallback,
                    int64_t max = kMaxSize);
// A finite number above zero.
double positive_float_or(const Json& config, std::string_view key, double fallback);

// `value` has to be a multiple of `divisor`, and so on for messages such as
// "config.json: num_attention_heads: 8 is not a multiple of num_key_value_heads 3".
void require_multiple(const Json& config, std::string_view key, int64_t value,
                      std::string_view divisor_key, int64_t divisor);

// hidden_act and the like; throws Unsupported for activations outside `allowed`.
nn::Activation activation(const Json& config, std::string_view key, std::string_view fallback,
                          std::initializer_list<std::string_view> allowed);

// rope_scaling (or the newer rope_parameters) in its kinds "default", "linear", "llama3"; throws
// Unsupported, naming it, for another.
nn::RopeScaling rope_scaling(const Json& config);
double rope_theta(const Json& config, double fallback);

// The context to build for: options' or the model's own, at most 2048 unless asked for.
int64_t choose_context(const Json& config, int64_t wanted, int64_t model_context);

}  // namespace pippin::models
