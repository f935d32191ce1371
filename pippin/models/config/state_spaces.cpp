#include "pippin/models/config/state_spaces.h"

#include <cmath>

#include <fmt/format.h>

#include "pippin/base/error.h"

namespace pippin::models {

nn::DecoderOptions state_space_decoder(const Config& config, Defaults defaults) {
  defaults.num_heads = 1;
  defaults.context = int64_t{1} << 20;
  defaults.epsilon_key = "layer_norm_epsilon";
  defaults.epsilon = 1e-5;
  nn::DecoderOptions model = plain_decoder(config, defaults);
  const auto activation = config.activation("hidden_act", "silu");
  if (activation != nn::Activation::Silu) {
    config.unsupported("hidden_act", "only silu is supported for state spaces");
  }
  model.base = "backbone";
  model.embedding = "embeddings";
  model.final_norm = "norm_f";
  for (nn::LayerOptions& layer : model.layers) {
    layer.attention_norm = "norm";
    layer.attention_path = "mixer";
    layer.mlp_norm.clear();
    layer.feed_forward = nn::NoFeedForwardOptions();
  }
  return model;
}

int64_t expanded(const Config& config, std::string_view key, int64_t hidden_size, double factor) {
  const double size = std::floor(factor * static_cast<double>(hidden_size));
  if (size < 1 || size > static_cast<double>(kMaxSize)) {
    config.invalid(key, fmt::format("{} times hidden_size {} is not between 1 and {}", factor,
                                    hidden_size, kMaxSize));
  }
  return static_cast<int64_t>(size);
}

int64_t size_or_auto(const Config& config, std::string_view key, int64_t automatic) {
  const auto value = config.find(key);
  if (!value || (value->is_string() && value->as_string() == "auto")) return automatic;
  return config.size(key, automatic);
}

int64_t convolution_length(const Config& config, std::string_view key, int64_t fallback) {
  const int64_t length = config.size(key, fallback, kMaxHeads);
  if (length < 2) config.unsupported(key, "a convolution of one tap is not supported");
  return length;
}

void limit_steps(const Config& config, nn::Mamba2Options& mamba) {
  const auto limits = config.find("time_step_limit");
  if (!limits) return;
  if (!limits->is_array() || limits->size() != 2) {
    config.invalid("time_step_limit", "not two numbers");
  }
  mamba.least_step = limits->at(size_t{0}).as_float();
  // Some writers of Infinity leave null.
  const Json largest = limits->at(size_t{1});
  if (!largest.is_null()) mamba.largest_step = largest.as_float();
  if (!(mamba.least_step >= 0) || !(mamba.largest_step > mamba.least_step)) {
    config.invalid("time_step_limit", fmt::format("{} to {} is not a range of steps",
                                                  mamba.least_step, mamba.largest_step));
  }
}

nn::Mamba2Options hybrid_mamba(const Config& config, const nn::DecoderOptions& model,
                               std::optional<int64_t> inner) {
  nn::Mamba2Options mamba;
  mamba.features = model.hidden_size;
  const double expand = config.number("mamba_expand", 2.0);
  if (!inner) inner = expanded(config, "mamba_expand", model.hidden_size, expand);
  mamba.heads = config.size("mamba_n_heads", 128, kMaxHeads);
  mamba.head_dim = size_or_auto(config, "mamba_d_head", std::max<int64_t>(*inner / mamba.heads, 1));
  if (mamba.heads * mamba.head_dim != *inner) {
    config.invalid("mamba_n_heads", fmt::format("{} heads of {} are not the {} features of the "
                                                "state space",
                                                mamba.heads, mamba.head_dim, *inner));
  }
  mamba.groups = config.size("mamba_n_groups", 1, kMaxHeads);
  config.require_multiple("mamba_n_heads", mamba.heads, "mamba_n_groups", mamba.groups);
  mamba.state_size = config.size("mamba_d_state", 256);
  mamba.kernel = convolution_length(config, "mamba_d_conv");
  mamba.bias = mamba.output_bias = config.flag("mamba_proj_bias", false);
  mamba.convolution_bias = config.flag("mamba_conv_bias", true);
  mamba.norm = model.norm;
  limit_steps(config, mamba);
  return mamba;
}

namespace {

// Whether a configuration's name is `kind`, or the one that transformers 5 has for it.
bool is_kind(std::string_view name, std::string_view kind) {
  if (name == kind) return true;
  return (kind == "mamba" && name == "linear_attention") ||
         (kind == "attention" && name == "full_attention");
}

}  // namespace

std::vector<bool> layer_kinds(const Config& config, std::string_view key, size_t num_layers,
                              std::string_view first, std::string_view second) {
  std::vector<bool> kinds(num_layers, false);
  const auto names = config.find(key);
  if (!names) return kinds;
  const std::vector<std::string> given = names->as_strings();
  if (given.size() != num_layers) {
    config.invalid(key, fmt::format("{} for {} layers", given.size(), num_layers));
  }
  for (size_t i = 0; i < num_layers; ++i) {
    kinds[i] = is_kind(given[i], second);
    if (kinds[i] || is_kind(given[i], first)) continue;
    config.unsupported(
        key, fmt::format("'{}' is not supported (known: {}, {})", given[i], first, second));
  }
  return kinds;
}

std::optional<std::vector<bool>> attention_kinds(const Config& config, size_t num_layers) {
  for (const std::string_view key : {"layers_block_type", "layer_types"}) {
    if (config.find(key)) return layer_kinds(config, key, num_layers, "mamba", "attention");
  }
  return std::nullopt;
}

}  // namespace pippin::models
