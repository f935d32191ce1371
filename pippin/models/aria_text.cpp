// Aria's language model (Rhymes AI 2024): experts whose matrices are stacked and transposed, and a
// shared one.
#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/config/experts_config.h"

namespace pippin::models {

nn::DecoderOptions aria_text(const Config& config) {
  nn::DecoderOptions model = llama_like(config, {.vocab_size = 32000,
                                                 .hidden_size = 4096,
                                                 .intermediate_size = 4096,
                                                 .num_layers = 32,
                                                 .num_heads = 32,
                                                 .context = 2048});
  nn::ExpertsOptions experts = experts_of(config, model,
                                          {.count_key = "moe_num_experts",
                                           .count = 8,
                                           .top_k_key = "moe_topk",
                                           .top_k = 2,
                                           .width_key = "intermediate_size",
                                           .width = 4096});
  experts.router.path = "router";
  experts.router.scores = nn::RouterOptions::Scores::Plain;
  experts.router.softmax_chosen = true;
  experts.weights.layout = nn::ExpertWeightsOptions::Layout::Transposed;
  experts.weights.gate = "fc1.weight";
  experts.weights.down = "fc2.weight";
  add_shared_experts(config, experts, model, "moe_num_shared_experts", 2);
  const bool bias = config.flag("attention_bias", false);
  const bool mlp_bias = config.flag("mlp_bias", false);
  if (experts.shared) experts.shared->bias = mlp_bias;
  for (nn::LayerOptions& layer : model.layers) {
    layer.attention().qkv_bias = layer.attention().output_bias = bias;
  }
  use_experts_after(model, experts, 0);
  return model;
}

}  // namespace pippin::models
