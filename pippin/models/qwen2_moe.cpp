// Qwen1.5-MoE and Qwen2-57B-A14B: Qwen2 with experts, and a shared one with a separate gate.
#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/config/experts_config.h"

namespace pippin::models {

nn::DecoderOptions qwen2_moe(const Config& config) {
  nn::DecoderOptions model = llama_like(config, {.vocab_size = 151936,
                                                 .hidden_size = 2048,
                                                 .intermediate_size = 5632,
                                                 .num_layers = 24,
                                                 .num_heads = 16,
                                                 .num_kv_heads = 16,
                                                 .context = 32768});
  const bool bias = config.flag("qkv_bias", true);
  for (nn::LayerOptions& layer : model.layers) layer.attention().qkv_bias = bias;
  slide_qwen(config, model);
  nn::ExpertsOptions experts = experts_of(config, model, {.count = 60, .top_k = 4, .width = 1408});
  experts.router.normalized = config.flag("norm_topk_prob", false);
  add_shared_expert(experts, model, config.size("shared_expert_intermediate_size", 5632));
  experts.shared_gate = "shared_expert_gate";
  use_qwen_experts(config, model, experts);
  return model;
}

}  // namespace pippin::models
