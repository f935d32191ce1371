// The language model of DeepSeek-OCR 2: Llama's attention with DeepSeek-V2's experts.
#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/config/experts_config.h"

namespace pippin::models {

nn::DecoderOptions deepseek_ocr2_text(const Config& config) {
  nn::DecoderOptions model = llama_like(config, {.vocab_size = 129280,
                                                 .hidden_size = 1280,
                                                 .intermediate_size = 6848,
                                                 .num_layers = 12,
                                                 .num_heads = 10,
                                                 .num_kv_heads = 10,
                                                 .context = 8192});
  config.require_flag("attention_bias", false, false);
  config.require_flag("mlp_bias", false, false);
  nn::ExpertsOptions experts = experts_of(
      config, model, {.count_key = "n_routed_experts", .count = 64, .top_k = 6, .width = 896});
  const std::string method = config.text("topk_method", "greedy");
  if (method != "greedy") config.unsupported("topk_method", "only greedy is supported");
  config.ignore({"norm_topk_prob", "n_group", "topk_group"});
  experts.router.scale = config.number("routed_scaling_factor", 1.0);
  if (const auto shared = config.find_size("n_shared_experts", kMaxExperts)) {
    experts.shared_path = "shared_experts";
    add_shared_expert(experts, model, experts.weights.hidden_features * *shared);
  }
  use_experts_by_type(config, model, experts, 1);
  return model;
}

}  // namespace pippin::models
