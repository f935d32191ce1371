// Qwen3.5, 3.6 and 3.8 (Alibaba 2026): Qwen3-Next's layers with separate matrices of their gated
// delta rules, and a dense feed-forward, or experts and a shared one.
#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/config/experts_config.h"
#include "pippin/models/lineages.h"

namespace pippin::models {
namespace {

nn::DecoderOptions layers_of(const Config& config, const Defaults& defaults) {
  nn::DecoderOptions model = qwen3_next_like(config, defaults);
  for (nn::LayerOptions& layer : model.layers) {
    if (auto* delta = std::get_if<nn::GatedDeltaOptions>(&layer.mixer)) {
      delta->layout = nn::GatedDeltaOptions::Layout::Joined;
    }
  }
  skip_prediction_modules(config, model, "mtp_num_hidden_layers", "mtp.");
  return model;
}

}  // namespace

nn::DecoderOptions qwen3_5_text(const Config& config) {
  nn::DecoderOptions model = layers_of(config, {.vocab_size = 248320,
                                                .hidden_size = 4096,
                                                .intermediate_size = 12288,
                                                .num_layers = 32,
                                                .num_heads = 16,
                                                .num_kv_heads = 4,
                                                .head_dim = 256,
                                                .context = 32768,
                                                .rotary_factor = 0.25});
  predict_like_qwen(model);
  return model;
}

nn::DecoderOptions qwen3_5_moe_text(const Config& config) {
  nn::DecoderOptions model = layers_of(config, {.vocab_size = 248320,
                                                .hidden_size = 2048,
                                                .intermediate_size = 512,
                                                .width_key = "moe_intermediate_size",
                                                .num_layers = 40,
                                                .num_heads = 16,
                                                .num_kv_heads = 2,
                                                .head_dim = 256,
                                                .context = 32768,
                                                .rotary_factor = 0.25});
  nn::ExpertsOptions experts = experts_of(config, model, {.count = 256, .top_k = 8, .width = 512});
  experts.router.normalized = true;
  add_shared_expert(experts, model, config.size("shared_expert_intermediate_size", 512));
  experts.shared_gate = "shared_expert_gate";
  use_experts_after(model, experts, 0);
  predict_like_qwen(model);
  return model;
}

}  // namespace pippin::models
