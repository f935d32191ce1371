// Nemotron-H and Nemotron 3 (NVIDIA 2025, 2026): layers of a single part each: Mamba 2, attention
// without positions, a feed-forward of squared ReLU, or experts of such, some of them in a narrower
// space.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/config/experts_config.h"
#include "pippin/models/config/state_spaces.h"

namespace pippin::models {
namespace {

enum class Kind { Mamba, Attention, Mlp, Experts };

// The letters of hybrid_override_pattern, and the names of layers_block_type, which only newer
// files have.
struct KindName {
  char letter;
  std::string_view name, older;
  Kind kind;
};
constexpr std::array kKinds = {
    KindName{'M', "linear_attention", "mamba", Kind::Mamba},
    KindName{'*', "full_attention", "attention", Kind::Attention},
    KindName{'-', "mlp", "mlp", Kind::Mlp},
    KindName{'E', "moe", "moe", Kind::Experts},
};

std::vector<Kind> layers_of(const Config& config) {
  std::vector<Kind> kinds;
  const auto types = config.contains("layers_block_type") ? config.find("layers_block_type")
                                                          : config.find("layer_types");
  const auto pattern = config.find("hybrid_override_pattern");
  const std::string_view key = types ? "layers_block_type" : "hybrid_override_pattern";
  std::vector<std::string> names;
  if (types) {
    names = types->as_strings();
  } else if (pattern) {
    for (const char letter : pattern->as_string()) names.emplace_back(1, letter);
  } else {
    return {Kind::Mamba, Kind::Experts, Kind::Attention, Kind::Mlp};
  }
  for (const std::string& name : names) {
    const auto* const known = std::find_if(kKinds.begin(), kKinds.end(), [&](const KindName& one) {
      return types ? name == one.name || name == one.older : name[0] == one.letter;
    });
    if (known == kKinds.end()) {
      config.unsupported(
          key, fmt::format("'{}' is not supported (known: {})", name,
                           types ? "linear_attention, full_attention, mlp, moe" : "M, *, -, E"));
    }
    kinds.push_back(known->kind);
  }
  if (kinds.empty() || std::ssize(kinds) > kMaxLayers) {
    config.invalid(key, fmt::format("{} layers", kinds.size()));
  }
  return kinds;
}

nn::Mamba2Options mamba_of(const Config& given, const nn::DecoderOptions& model) {
  Config config = given;
  config.alias("n_groups", "mamba_n_groups");
  config.alias("conv_kernel", "mamba_d_conv");
  config.alias("use_conv_bias", "mamba_conv_bias");
  config.alias("time_step_limit", "mamba_dt_limit");
  if (config.activation("mamba_hidden_act", "silu") != nn::Activation::Silu) {
    config.unsupported("mamba_hidden_act", "only silu is supported for state spaces");
  }
  nn::Mamba2Options mamba;
  mamba.features = model.hidden_size;
  mamba.heads = config.size("mamba_num_heads", 128, kMaxHeads);
  mamba.head_dim = config.size("mamba_head_dim", 64, kMaxHeadDim);
  mamba.groups = config.size("n_groups", 8, kMaxHeads);
  config.require_multiple("mamba_num_heads", mamba.heads, "n_groups", mamba.groups);
  mamba.state_size = config.size("ssm_state_size", 128);
  mamba.kernel = convolution_length(config, "conv_kernel");
  mamba.bias = mamba.output_bias = config.flag("use_bias", false);
  mamba.convolution_bias = config.flag("use_conv_bias", true);
  mamba.norm = model.norm;
  mamba.norm_groups = true;
  limit_steps(config, mamba);
  return mamba;
}

nn::ExpertsOptions experts_in(const Config& config, const nn::DecoderOptions& model, bool bias) {
  nn::ExpertsOptions experts = experts_of(
      config, model, {.count_key = "n_routed_experts", .count = 8, .top_k = 2, .width = 7688});
  use_corrected_sigmoid(config, experts, true);
  experts.weights.gated = false;
  experts.shared_path = "shared_experts";
  add_shared_expert(experts, model, config.size("moe_shared_expert_intermediate_size", 7688));
  if (const auto latent = config.find_size("moe_latent_size")) {
    experts.weights.features = *latent;
    experts.into_latent = "fc1_latent_proj";
    experts.out_of_latent = "fc2_latent_proj";
    experts.latent_bias = bias;
  }
  return experts;
}

}  // namespace

nn::DecoderOptions nemotron_h(const Config& given) {
  const std::vector<Kind> kinds = layers_of(given);
  // The list gives their number, whatever the configuration says.
  const Config config = given.with_value("num_hidden_layers", std::to_string(kinds.size()));
  nn::DecoderOptions model = plain_decoder(config, {.vocab_size = 131072,
                                                    .hidden_size = 4096,
                                                    .intermediate_size = 21504,
                                                    .num_layers = std::ssize(kinds),
                                                    .num_heads = 32,
                                                    .num_kv_heads = 8,
                                                    .head_dim = 128,
                                                    .context = 4096,
                                                    .epsilon_key = "layer_norm_epsilon",
                                                    .epsilon = 1e-5,
                                                    .activation_key = "mlp_hidden_act",
                                                    .activation = "relu2"});
  config.ignore({"rope_parameters", "rope_scaling", "partial_rotary_factor"});
  const bool attention_bias = config.flag("attention_bias", false);
  const bool bias = config.flag("mlp_bias", false);
  const auto window = window_size(config, std::nullopt);
  model.base = "backbone";
  model.embedding = "embeddings";
  model.final_norm = "norm_f";
  const nn::Mamba2Options mamba = mamba_of(config, model);
  for (nn::LayerOptions& layer : model.layers) {
    layer.attention_norm = layer.mlp_norm = "norm";
    layer.attention_path = layer.mlp_path = "mixer";
    layer.mlp().gated = false;
    layer.mlp().bias = bias;
  }
  nn::ExpertsOptions experts;
  if (std::find(kinds.begin(), kinds.end(), Kind::Experts) != kinds.end()) {
    experts = experts_in(config, model, bias);
  }
  for (size_t i = 0; i < kinds.size(); ++i) {
    nn::LayerOptions& layer = model.layers[i];
    if (kinds[i] == Kind::Mlp || kinds[i] == Kind::Experts) {
      layer.attention_norm.clear();
      layer.mixer = nn::NoMixerOptions();
      if (kinds[i] == Kind::Experts) layer.feed_forward = experts;
      continue;
    }
    layer.mlp_norm.clear();
    if (kinds[i] == Kind::Mamba) {
      layer.mixer = mamba;
    } else {
      layer.attention().qkv_bias = layer.attention().output_bias = attention_bias;
      layer.attention().window = window;
    }
    layer.feed_forward = nn::NoFeedForwardOptions();
  }
  config.ignore({"n_routed_experts", "moe_intermediate_size"});
  skip_prediction_modules(config, model, "num_nextn_predict_layers", "mtp.");
  return model;
}

}  // namespace pippin::models
