// GLM-4.5 and 4.6 (Zhipu 2025): DeepSeek-V3's experts behind grouped-query attention, which turns
// half of each head.
#include <algorithm>

#include "pippin/models/architectures.h"
#include "pippin/models/common.h"
#include "pippin/models/experts_config.h"

namespace pippin::models {

nn::DecoderOptions glm4_moe(const Config& config) {
  nn::DecoderOptions model = llama_like(config, {.vocab_size = 151552,
                                                 .hidden_size = 4096,
                                                 .intermediate_size = 10944,
                                                 .num_layers = 46,
                                                 .num_heads = 96,
                                                 .num_kv_heads = 8,
                                                 .context = 131072,
                                                 .epsilon = 1e-5,
                                                 .rotary_factor = 0.5});
  const bool bias = config.flag("attention_bias", false);
  const bool normed = config.flag("use_qk_norm", false);
  for (nn::LayerOptions& layer : model.layers) {
    layer.attention().qkv_bias = bias;
    if (normed) {
      layer.attention().qk_norm = {.place = nn::QkNorm::Place::BeforeRope, .norm = layer.norm};
    }
  }
  nn::ExpertsOptions experts = experts_of(
      config, model, {.count_key = "n_routed_experts", .count = 128, .top_k = 8, .width = 1408});
  use_corrected_sigmoid(config, experts, true);
  experts.shared_path = "shared_experts";
  add_shared_expert(
      experts, model,
      experts.weights.hidden_features * config.size("n_shared_experts", 1, kMaxExperts));
  const auto dense = config.find("first_k_dense_replace");
  use_experts_after(model, experts, dense ? std::max<int64_t>(0, dense->as_int()) : 1);
  skip_prediction_layers(config, model, 0);
  return model;
}

}  // namespace pippin::models
