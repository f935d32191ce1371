// Trinity (Arcee AI 2025, 2026): four norms a layer, attention with a gate on its output, positions
// in sliding layers only, experts chosen by a corrected sigmoid and a shared one.
#include <algorithm>
#include <cmath>

#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/config/experts_config.h"

namespace pippin::models {
namespace {

nn::ExpertsOptions afmoe_experts(const Config& config, const nn::DecoderOptions& model) {
  nn::ExpertsOptions experts = experts_of(config, model, {.count = 64, .top_k = 6, .width = 1408});
  nn::RouterOptions& router = experts.router;
  router.path = "router.gate";
  const std::string scores = config.text("score_func", "sigmoid");
  if (scores != "sigmoid" && scores != "softmax") {
    config.unsupported("score_func", "'" + scores + "' is not supported (known: sigmoid, softmax)");
  }
  if (scores == "sigmoid") router.scores = nn::RouterOptions::Scores::Sigmoid;
  router.correction = "expert_bias";
  router.group_score = nn::RouterOptions::GroupScore::SumOfTwo;
  read_groups(config, router);
  router.normalized = config.flag("route_norm", true);
  router.added_to_sum = 1e-20;
  router.scale = config.number("route_scale", 1.0);
  add_shared_experts(config, experts, model, "num_shared_experts", 2);
  return experts;
}

}  // namespace

nn::DecoderOptions afmoe(const Config& config) {
  nn::DecoderOptions model = llama_like(config, {.vocab_size = 200192,
                                                 .hidden_size = 2048,
                                                 .intermediate_size = 6144,
                                                 .num_layers = 32,
                                                 .num_heads = 16,
                                                 .head_dim = 128,
                                                 .context = 16384,
                                                 .epsilon = 1e-5});
  if (config.flag("mup_enabled", false)) {
    model.embedding_scale = std::sqrt(static_cast<double>(model.hidden_size));
  }
  const size_t count = model.layers.size();
  const int64_t every = config.size("global_attn_every_n_layers", 4, kMaxLayers);
  const auto sliding = sliding_layers(config, count).value_or(sliding_pattern(count, every));
  slide(model, sliding, window_size(config, 1024));
  const bool bias = config.flag("attention_bias", false);
  for (size_t i = 0; i < count; ++i) {
    nn::LayerOptions& layer = model.layers[i];
    layer.attention_post_norm = "post_attention_layernorm";
    layer.mlp_norm = "pre_mlp_layernorm";
    layer.mlp_post_norm = "post_mlp_layernorm";
    nn::AttentionOptions& attention = layer.attention();
    attention.qkv_bias = attention.output_bias = bias;
    attention.qk_norm = {.place = nn::QkNorm::Place::BeforeRope, .norm = layer.norm};
    attention.gate = nn::AttentionOptions::Gate{.path = "gate_proj"};
    if (!sliding[i]) attention.rope.reset();
  }
  const auto dense = config.find("num_dense_layers");
  use_experts_after(model, afmoe_experts(config, model),
                    dense ? std::max<int64_t>(0, dense->as_int()) : 1);
  return model;
}

}  // namespace pippin::models
