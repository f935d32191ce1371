// Laguna (Poolside 2026): numbers of heads by layer, a softplus gate for each head, windows with a
// separate rope, experts chosen by a corrected sigmoid of capped scores.

#include <optional>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/config/experts_config.h"

namespace pippin::models {

namespace {

void use_heads(const Config& config, nn::DecoderOptions& model) {
  const auto list = config.find("num_attention_heads_per_layer");
  if (!list) return;
  const std::vector<int64_t> heads = list->as_ints();
  if (heads.size() != model.layers.size()) {
    config.invalid("num_attention_heads_per_layer",
                   fmt::format("{} for {} layers", heads.size(), model.layers.size()));
  }
  for (size_t i = 0; i < heads.size(); ++i) {
    nn::AttentionOptions& attention = model.layers[i].attention();
    if (heads[i] < 1 || heads[i] > kMaxHeads) {
      config.invalid("num_attention_heads_per_layer", fmt::format("{} is out of range", heads[i]));
    }
    attention.num_heads = heads[i];
    config.require_multiple("num_attention_heads_per_layer", heads[i], "num_key_value_heads",
                            attention.num_kv_heads);
  }
}

// Nothing, or a gate for each head, or for each element of its result.
std::optional<nn::AttentionOptions::Gate> gate_of(const Config& config) {
  nn::AttentionOptions::Gate gate{
      .path = "g_proj", .by_head = true, .activation = nn::Activation::Softplus};
  const auto value = config.find("gating");
  if (!value || !value->is_string()) {
    return config.flag("gating", true) ? std::optional(gate) : std::nullopt;
  }
  if (value->as_string() == "per-element") gate.by_head = false;
  if (gate.by_head && value->as_string() != "per-head") {
    config.unsupported("gating", fmt::format("'{}' is not supported (known: per-head, per-element)",
                                             value->as_string()));
  }
  return gate;
}

nn::ExpertsOptions experts_in(const Config& config, const nn::DecoderOptions& model) {
  nn::ExpertsOptions experts = experts_of(config, model, {.count = 256, .top_k = 8, .width = 512});
  const std::string scores = config.text("moe_router_score_func", "sigmoid");
  if (scores != "sigmoid")
    config.unsupported("moe_router_score_func", scores + " is not supported");
  experts.router.scores = nn::RouterOptions::Scores::Sigmoid;
  experts.router.correction = "experts.e_score_correction_bias";
  experts.router.normalized = true;
  experts.router.scale = config.number("moe_routed_scaling_factor", 1.0);
  const auto cap = config.find("moe_router_logit_softcapping");
  if (cap && cap->as_float() > 0) experts.router.softcap = cap->as_float();
  experts.weights_scale_input = config.flag("moe_apply_router_weight_on_input", false);
  add_shared_expert(experts, model, config.size("shared_expert_intermediate_size", 512));
  return experts;
}

}  // namespace

nn::DecoderOptions laguna(const Config& given) {
  const Config config = given.with_default_rope(
      R"({"full_attention": {"rope_theta": 500000.0, "partial_rotary_factor": 0.5},
          "sliding_attention": {"rope_theta": 10000.0}})");
  nn::DecoderOptions model = plain_decoder(config, {.vocab_size = 100352,
                                                    .hidden_size = 2048,
                                                    .intermediate_size = 8192,
                                                    .num_layers = 40,
                                                    .num_heads = 48,
                                                    .num_kv_heads = 8,
                                                    .head_dim = 128,
                                                    .context = 131072});
  use_heads(config, model);
  const size_t count = model.layers.size();
  const auto sliding = sliding_layers(config, count).value_or(std::vector<bool>(count));
  slide(model, sliding, window_size(config, 512));
  add_ropes_by_kind(config, model, sliding, {.theta = 5e5}, {});
  const bool bias = config.flag("attention_bias", false);
  const bool qkv_bias = config.flag("qkv_bias", bias);
  const auto gate = gate_of(config);
  for (nn::LayerOptions& layer : model.layers) {
    nn::AttentionOptions& attention = layer.attention();
    attention.qkv_bias = qkv_bias;
    attention.output_bias = bias;
    attention.qk_norm = {.place = nn::QkNorm::Place::BeforeRope, .norm = layer.norm};
    attention.gate = gate;
  }
  use_experts_by_type(config, model, experts_in(config, model), 1);
  return model;
}

}  // namespace pippin::models
