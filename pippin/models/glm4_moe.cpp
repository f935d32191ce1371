// GLM-4.5 and 4.6 (Zhipu 2025): DeepSeek-V3's experts after grouped-query attention, which rotates
// half of each head.
#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/config/experts_config.h"

namespace pippin::models {

namespace {

nn::DecoderOptions grouped_like(const Config& config, const Defaults& defaults, int64_t dense,
                                int64_t expert_width) {
  nn::DecoderOptions model = llama_like(config, defaults);
  const bool bias = config.flag("attention_bias", false);
  const bool normed = config.flag("use_qk_norm", false);
  for (nn::LayerOptions& layer : model.layers) {
    layer.attention().qkv_bias = bias;
    if (normed) {
      layer.attention().qk_norm = {.place = nn::QkNorm::Place::BeforeRope, .norm = layer.norm};
    }
  }
  nn::ExpertsOptions experts = experts_of(
      config, model,
      {.count_key = "n_routed_experts", .count = 128, .top_k = 8, .width = expert_width});
  use_corrected_sigmoid(config, experts, true);
  add_shared_experts(config, experts, model, "n_shared_experts", 1);
  use_experts_by_type(config, model, experts, dense);
  skip_prediction_layers(config, model, 0);
  predict_like_deepseek(model);
  return model;
}

}  // namespace

nn::DecoderOptions glm4_moe(const Config& config) {
  return grouped_like(config,
                      {.vocab_size = 151552,
                       .hidden_size = 4096,
                       .intermediate_size = 10944,
                       .num_layers = 46,
                       .num_heads = 96,
                       .num_kv_heads = 8,
                       .context = 131072,
                       .epsilon = 1e-5,
                       .rotary_factor = 0.5},
                      1, 1408);
}

// Solar Open (Upstage 2026): the same with whole heads rotated and experts in every layer.
nn::DecoderOptions solar_open(const Config& config) {
  return grouped_like(config,
                      {.vocab_size = 196608,
                       .hidden_size = 4096,
                       .intermediate_size = 10240,
                       .num_layers = 48,
                       .num_heads = 64,
                       .num_kv_heads = 8,
                       .head_dim = 128,
                       .context = 131072,
                       .epsilon = 1e-5,
                       .rope_theta = 1e6,
                       .rotary_factor = 1.0},
                      0, 1280);
}

}  // namespace pippin::models
