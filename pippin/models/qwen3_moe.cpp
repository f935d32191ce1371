// Qwen3-30B-A3B and similar models: Qwen3 with experts in most layers.
#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/config/experts_config.h"

namespace pippin::models {

nn::DecoderOptions qwen3_moe(const Config& config) {
  nn::DecoderOptions model = llama_like(config, {.vocab_size = 151936,
                                                 .hidden_size = 2048,
                                                 .intermediate_size = 6144,
                                                 .num_layers = 24,
                                                 .num_heads = 32,
                                                 .num_kv_heads = 4,
                                                 .context = 32768});
  const bool bias = config.flag("attention_bias", false);
  for (nn::LayerOptions& layer : model.layers) {
    nn::AttentionOptions& attention = layer.attention();
    attention.qkv_bias = attention.output_bias = bias;
    attention.qk_norm = {.place = nn::QkNorm::Place::BeforeRope, .norm = layer.norm};
  }
  config.ignore({"max_window_layers"});
  const auto window = window_size(config, 4096);
  if (config.flag("use_sliding_window", false)) {
    slide(model, std::vector<bool>(model.layers.size(), true), window);
  }
  nn::ExpertsOptions experts = experts_of(config, model, {.count = 128, .top_k = 8, .width = 768});
  experts.router.normalized = config.flag("norm_topk_prob", false);
  use_qwen_experts(config, model, experts);
  return model;
}

// The language models of Qwen3-VL and Qwen3-Omni, whose pictures and sounds have positions on
// several axes; text has them on one.
nn::DecoderOptions qwen3_vl_moe_text(const Config& given) {
  Config config = given;
  config.alias("num_experts", "num_local_experts");
  nn::DecoderOptions model = qwen3_moe(config);
  for (nn::LayerOptions& layer : model.layers) {
    if (auto* experts = std::get_if<nn::ExpertsOptions>(&layer.feed_forward)) {
      experts->router.normalized = true;
    }
  }
  return model;
}
nn::DecoderOptions qwen3_omni_moe_text(const Config& config) {
  return qwen3_moe(config);
}

}  // namespace pippin::models
