// dots.llm1 (rednote 2025): DeepSeek-V3's experts after Qwen3's attention.
#include <algorithm>

#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/config/experts_config.h"

namespace pippin::models {

nn::DecoderOptions dots1(const Config& config) {
  nn::DecoderOptions model = llama_like(config, {.vocab_size = 152064,
                                                 .hidden_size = 4608,
                                                 .intermediate_size = 10944,
                                                 .num_layers = 62,
                                                 .num_heads = 32,
                                                 .num_kv_heads = 32,
                                                 .context = 2048});
  const bool bias = config.flag("attention_bias", false);
  for (nn::LayerOptions& layer : model.layers) {
    nn::AttentionOptions& attention = layer.attention();
    attention.qkv_bias = attention.output_bias = bias;
    attention.qk_norm = {.place = nn::QkNorm::Place::BeforeRope, .norm = layer.norm};
  }
  const size_t count = model.layers.size();
  const int64_t full = config.size("max_window_layers", 62);
  std::vector<bool> sliding;
  for (size_t i = 0; i < count; ++i) sliding.push_back(static_cast<int64_t>(i) >= full);
  slide(model, sliding_layers(config, count).value_or(sliding), window_size(config, 4096));
  nn::ExpertsOptions experts = experts_of(
      config, model, {.count_key = "n_routed_experts", .count = 128, .top_k = 6, .width = 1408});
  use_corrected_sigmoid(config, experts, false);
  if (const auto shared = config.find_size("n_shared_experts", kMaxExperts)) {
    experts.shared_path = "shared_experts";
    add_shared_expert(experts, model, experts.weights.hidden_features * *shared);
  }
  const auto dense = config.find("first_k_dense_replace");
  use_experts_after(model, experts, dense ? std::max<int64_t>(0, dense->as_int()) : 0);
  return model;
}

}  // namespace pippin::models
