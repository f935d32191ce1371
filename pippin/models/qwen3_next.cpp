// Qwen3-Next (Alibaba 2025): a gated delta rule in three of four layers, attention with a gate on
// its output and positions on a quarter of each head in the others, experts and a shared one.
#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/config/experts_config.h"
#include "pippin/models/config/state_spaces.h"
#include "pippin/models/lineages.h"

namespace pippin::models {

nn::GatedDeltaOptions gated_delta(const Config& config, const nn::DecoderOptions& model) {
  nn::GatedDeltaOptions delta;
  delta.features = model.hidden_size;
  delta.key_heads = config.size("linear_num_key_heads", 16, kMaxHeads);
  delta.key_dim = config.size("linear_key_head_dim", 128, kMaxHeadDim);
  delta.value_heads = config.size("linear_num_value_heads", 32, kMaxHeads);
  delta.value_dim = config.size("linear_value_head_dim", 128, kMaxHeadDim);
  config.require_multiple("linear_num_value_heads", delta.value_heads, "linear_num_key_heads",
                          delta.key_heads);
  delta.kernel = convolution_length(config, "linear_conv_kernel_dim");
  delta.norm.epsilon = model.norm.epsilon;  // its weight is the factor itself
  return delta;
}

nn::DecoderOptions qwen3_next_like(const Config& config, const Defaults& defaults) {
  nn::DecoderOptions model = llama_like(config, defaults);
  model.norm.one_plus = true;
  const size_t count = model.layers.size();
  const int64_t interval = config.size("full_attention_interval", 4, kMaxLayers);
  std::vector<bool> full(count);
  for (size_t i = 0; i < count; ++i) full[i] = (static_cast<int64_t>(i) + 1) % interval == 0;
  if (config.find("layer_types")) {
    full = layer_kinds(config, "layer_types", count, "linear_attention", "full_attention");
  }
  const bool bias = config.flag("attention_bias", false);
  const bool gated = config.flag("attn_output_gate", true);
  const nn::GatedDeltaOptions delta = gated_delta(config, model);
  for (size_t i = 0; i < count; ++i) {
    nn::LayerOptions& layer = model.layers[i];
    layer.norm = model.norm;
    if (!full[i]) {
      layer.attention_path = "linear_attn";
      layer.mixer = delta;
      continue;
    }
    nn::AttentionOptions& attention = layer.attention();
    attention.qkv_bias = attention.output_bias = bias;
    attention.output_gate = gated;
    attention.qk_norm = {.place = nn::QkNorm::Place::BeforeRope, .norm = model.norm};
  }
  return model;
}

nn::DecoderOptions qwen3_next(const Config& config) {
  nn::DecoderOptions model = qwen3_next_like(config, {.vocab_size = 151936,
                                                      .hidden_size = 2048,
                                                      .intermediate_size = 5632,
                                                      .num_layers = 48,
                                                      .num_heads = 16,
                                                      .num_kv_heads = 2,
                                                      .head_dim = 256,
                                                      .context = 32768,
                                                      .rotary_factor = 0.25});
  nn::ExpertsOptions experts = experts_of(config, model, {.count = 512, .top_k = 10, .width = 512});
  experts.router.normalized = config.flag("norm_topk_prob", true);
  add_shared_expert(experts, model, config.size("shared_expert_intermediate_size", 512));
  experts.shared_gate = "shared_expert_gate";
  use_qwen_experts(config, model, experts);
  return model;
}

}  // namespace pippin::models
