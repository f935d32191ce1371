// Llama 4 (Meta 2025): attention in chunks with positions, and without either in every few layers,
// whose queries grow with the text; experts whose input their weight multiplies.
#include <fmt/format.h>

#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/config/experts_config.h"
#include "pippin/models/config/state_spaces.h"

namespace pippin::models {

namespace {

// Whether a layer has positions: no_rope_layers, where 1 means that it does.
std::vector<bool> layers_with_positions(const Config& config, size_t count) {
  std::vector<bool> ropes =
      sliding_pattern(count, config.size("no_rope_layer_interval", 4, kMaxLayers));
  const auto list = config.find("no_rope_layers");
  if (!list || list->size() == 0) return ropes;
  const std::vector<int64_t> flags = list->as_ints();
  if (flags.size() != count) {
    config.invalid("no_rope_layers", fmt::format("{} for {} layers", flags.size(), count));
  }
  for (size_t i = 0; i < count; ++i) ropes[i] = flags[i] != 0;
  return ropes;
}

std::vector<bool> chunked_layers(const Config& config, const std::vector<bool>& ropes) {
  if (!config.find("layer_types")) return ropes;
  return layer_kinds(config, "layer_types", ropes.size(), "full_attention", "chunked_attention");
}

std::vector<bool> expert_layers(const Config& config, size_t count) {
  std::vector<bool> has(count);
  const int64_t step = config.size("interleave_moe_layer_step", 1, kMaxLayers);
  if (const auto list = config.find("moe_layers")) {
    for (const int64_t index : list->as_ints()) {
      if (index < 0 || index >= static_cast<int64_t>(count)) {
        config.invalid("moe_layers", "not the number of a layer");
      }
      has[static_cast<size_t>(index)] = true;
    }
    return has;
  }
  for (size_t i = 0; i < count; ++i) has[i] = (static_cast<int64_t>(i) + 1) % step == 0;
  return has;
}

}  // namespace

nn::DecoderOptions llama4_text(const Config& config) {
  nn::DecoderOptions model = llama_like(config, {.vocab_size = 202048,
                                                 .hidden_size = 5120,
                                                 .intermediate_size = 8192,
                                                 .num_layers = 48,
                                                 .num_heads = 40,
                                                 .num_kv_heads = 8,
                                                 .head_dim = 128,
                                                 .context = 131072,
                                                 .epsilon = 1e-5,
                                                 .rope_theta = 5e5});
  nn::ExpertsOptions experts = experts_of(config, model,
                                          {.count_key = "num_local_experts",
                                           .count = 16,
                                           .top_k = 1,
                                           .width_key = "intermediate_size",
                                           .width = 8192});
  experts.router.path = "router";
  experts.router.scores = nn::RouterOptions::Scores::Plain;
  experts.router.sigmoid_chosen = true;
  experts.weights.layout = nn::ExpertWeightsOptions::Layout::Transposed;
  experts.weights.gate = "gate_up_proj";
  experts.weights_scale_input = true;
  add_shared_expert(experts, model, experts.weights.hidden_features);
  const size_t count = model.layers.size();
  const auto ropes = layers_with_positions(config, count);
  const auto chunked = chunked_layers(config, ropes);
  const auto has_experts = expert_layers(config, count);
  const int64_t dense_width = config.size("intermediate_size_mlp", 16384);
  const bool own_chunk = !config.contains("attention_chunk_size");
  const auto chunk = own_chunk ? std::optional<int64_t>(8192)
                               : config.find_size("attention_chunk_size", kMaxContext);
  const nn::Temperature temperature = {config.number("floor_scale", 8192),
                                       config.number("attn_scale", 0.1)};
  const bool tuned = config.flag("attn_temperature_tuning", true);
  const bool normed = config.flag("use_qk_norm", true);
  const bool bias = config.flag("attention_bias", false);
  for (size_t i = 0; i < count; ++i) {
    nn::LayerOptions& layer = model.layers[i];
    layer.mlp_path = "feed_forward";
    layer.mlp().hidden_features = dense_width;
    if (has_experts[i]) layer.feed_forward = experts;
    nn::AttentionOptions& attention = layer.attention();
    attention.qkv_bias = attention.output_bias = bias;
    attention.interleaved = true;
    if (chunked[i]) attention.chunk = chunk;
    if (ropes[i] && normed) {
      attention.qk_norm = {.place = nn::QkNorm::Place::AfterRope, .norm = layer.norm};
      attention.qk_norm.norm.weight = false;
    }
    if (ropes[i]) continue;
    attention.rope.reset();
    if (tuned) attention.temperature = temperature;
  }
  return model;
}

}  // namespace pippin::models
