// Gemma 4 (Google 2026, text): Gemma's four norms a layer with plain weights, other head sizes in
// full layers, a factor for each layer's result; E2B and E4B with rows of a table for each layer
// and layers that read earlier keys and values, 31B and 26B-A4B with values that are the keys of
// full layers, 26B-A4B with experts next to each dense feed-forward.
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/config/experts_config.h"
#include "pippin/models/config/rope_settings.h"
#include "pippin/models/lineages.h"

namespace pippin::models {
namespace {

// By layer, whether it slides; in the class, the last one never does.
std::vector<bool> sliding_of(const Config& config, size_t count) {
  auto sliding = sliding_layers(config, count).value_or(sliding_pattern(count, 6));
  sliding.back() = false;
  return sliding;
}

// Sizes of full layers: from per_layer_config, which plain_decoder() has read, or from their own
// keys.
void size_full_layers(const Config& config, const std::vector<bool>& sliding, bool values_of_keys,
                      nn::DecoderOptions& model) {
  const int64_t head_dim = config.size("global_head_dim", 512, kMaxHeadDim);
  const auto heads = config.find_size("num_global_key_value_heads", kMaxHeads);
  for (size_t i = 0; i < model.layers.size(); ++i) {
    if (sliding[i]) continue;
    nn::AttentionOptions& attention = model.layers[i].attention();
    attention.values_of_keys = values_of_keys;
    if (config.find("per_layer_config")) continue;
    attention.head_dim = head_dim;
    if (!values_of_keys || !heads) continue;
    attention.num_kv_heads = *heads;
    config.require_multiple("num_attention_heads", attention.num_heads,
                            "num_global_key_value_heads", *heads);
  }
}

// By default, full layers rotate with a quarter of whole heads' frequencies.
nn::RopeOptions full_rope(const Config& config, int64_t head_dim) {
  nn::RopeOptions rope = rope_options(config, head_dim, {.theta = 1e6, .kind = kFullLayers});
  if (RopeSettings(config, kFullLayers).has_object()) return rope;
  rope.scaling.kind = nn::RopeScaling::Kind::Proportional;
  rope.scaling.turned = head_dim / 8;
  return rope;
}

// One for each kind of layers and size of heads.
void add_ropes(const Config& config, const std::vector<bool>& sliding, nn::DecoderOptions& model) {
  std::map<std::pair<bool, int64_t>, size_t> known;
  for (size_t i = 0; i < model.layers.size(); ++i) {
    nn::AttentionOptions& attention = model.layers[i].attention();
    const int64_t dims = attention.head_dim;
    if (dims % 2 != 0) config.invalid("head_dim", fmt::format("{} is odd", dims));
    const auto [place, is_new] = known.emplace(std::pair(sliding[i], dims), model.ropes.size());
    if (is_new) {
      model.ropes.push_back(sliding[i] ? sliding_rope(config, dims, 10000.0)
                                       : full_rope(config, dims));
    }
    attention.rope = place->second;
    attention.rope_dims = dims;
  }
}

// The dense network of each layer stays, experts are added.
void add_experts(const Config& config, nn::DecoderOptions& model) {
  nn::MlpWithExpertsOptions both;
  both.experts = experts_of(config, model, {.top_k_key = "top_k_experts"});
  nn::RouterOptions& router = both.experts.router;
  router.path = "router.proj";
  router.input_norm = model.norm;
  router.input_scale = "router.scale";
  router.input_factor = 1 / std::sqrt(static_cast<double>(model.hidden_size));
  router.scores = nn::RouterOptions::Scores::Plain;
  router.softmax_chosen = true;
  router.expert_scale = "router.per_expert_scale";
  both.experts.weights.layout = nn::ExpertWeightsOptions::Layout::Stacked;
  both.experts.weights.gate = "gate_up_proj";
  both.experts.input_norm = {"pre_feedforward_layernorm_2", model.norm};
  both.mlp_norm = {"pre_feedforward_layernorm", model.norm};
  both.mlp_post_norm = {"post_feedforward_layernorm_1", model.norm};
  both.experts_post_norm = {"post_feedforward_layernorm_2", model.norm};
  for (nn::LayerOptions& layer : model.layers) {
    both.mlp = layer.mlp();
    layer.mlp_norm.clear();
    layer.mlp_path.clear();
    layer.feed_forward = both;
  }
}

nn::DecoderOptions gemma4_like(const Config& config, int64_t row, int64_t context, int64_t window) {
  config.ignore({"hidden_act"});
  const auto bidirectional = config.find("use_bidirectional_attention");
  // For pictures, which are not supported.
  if (bidirectional && (!bidirectional->is_string() || bidirectional->as_string() != "vision")) {
    config.require_absent("use_bidirectional_attention");
  }
  nn::DecoderOptions model = plain_decoder(config, {.vocab_size = 262144,
                                                    .hidden_size = 2304,
                                                    .intermediate_size = 9216,
                                                    .num_layers = 30,
                                                    .num_heads = 8,
                                                    .num_kv_heads = 4,
                                                    .head_dim = 256,
                                                    .context = context,
                                                    .activation_key = "hidden_activation",
                                                    .activation = "gelu_pytorch_tanh",
                                                    .tied = true});
  model.embedding_scale = std::sqrt(static_cast<double>(model.hidden_size));
  model.logit_softcap = config.find_number("final_logit_softcapping");
  const size_t count = model.layers.size();
  const auto sliding = sliding_of(config, count);
  slide(model, sliding, window_size(config, window));
  size_full_layers(config, sliding, config.flag("attention_k_eq_v", false), model);
  add_ropes(config, sliding, model);
  share_keys(config, sliding, model, 0);
  const auto rows = config.find("hidden_size_per_layer_input");
  if (rows ? rows->as_int() != 0 : row != 0) model.layer_rows = layer_rows(config, model);
  const bool wide = config.flag("use_double_wide_mlp", false);
  const bool bias = config.flag("attention_bias", false);
  for (nn::LayerOptions& layer : model.layers) {
    layer.attention_post_norm = "post_attention_layernorm";
    layer.mlp_norm = "pre_feedforward_layernorm";
    layer.mlp_post_norm = "post_feedforward_layernorm";
    layer.rows = model.layer_rows;
    layer.output_scale = "layer_scalar";
    nn::AttentionOptions& attention = layer.attention();
    attention.scale = 1.0;
    attention.qkv_bias = attention.output_bias = bias;
    attention.qk_norm = {.place = nn::QkNorm::Place::BeforeRope, .norm = layer.norm};
    attention.value_norm = layer.norm;
    if (wide && attention.keys_of) layer.mlp().hidden_features *= 2;
  }
  if (config.flag("enable_moe_block", false)) {
    add_experts(config, model);
  } else {
    config.ignore({"num_experts", "top_k_experts", "moe_intermediate_size"});
  }
  return model;
}

}  // namespace

nn::DecoderOptions gemma4_text(const Config& config) {
  return gemma4_like(config, 256, 131072, 512);
}

nn::DecoderOptions gemma4_unified_text(const Config& config) {
  return gemma4_like(config, 0, 262144, 1024);
}

}  // namespace pippin::models
