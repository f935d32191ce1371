// JetMoE (2024): mixtures of experts in attention, where each expert has query and output matrices,
// and in the feed-forward, with a bias after both.
#include <fmt/format.h>

#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/config/experts_config.h"
#include "pippin/models/lineages.h"

namespace pippin::models {

nn::DecoderOptions jetmoe(const Config& given) {
  Config config = given;
  config.alias("head_dim", "kv_channels");
  const int64_t kv_heads = config.size("num_key_value_heads", 16, kMaxHeads);
  const int64_t top_k = config.size("num_experts_per_tok", 2, kMaxExperts);
  nn::DecoderOptions model = llama_like(config, {.vocab_size = 32000,
                                                 .hidden_size = 2048,
                                                 .intermediate_size = 5632,
                                                 .num_layers = 12,
                                                 .num_heads = kv_heads * top_k,
                                                 .num_kv_heads = 16,
                                                 .head_dim = 128,
                                                 .context = 4096,
                                                 .activation_key = "activation_function",
                                                 .tied = true});
  const nn::AttentionOptions plain = model.layers.at(0).attention();
  if (plain.num_heads != kv_heads * top_k) {
    config.invalid("num_attention_heads",
                   fmt::format("{} is not num_key_value_heads {} * num_experts_per_tok {}",
                               plain.num_heads, kv_heads, top_k));
  }
  nn::ExpertsOptions experts = granite_experts(config, model);
  experts.router.path = "router.layer";
  experts.path.clear();
  experts.result_bias = "bias";
  nn::ExpertAttentionOptions attention;
  attention.features = model.hidden_size;
  attention.kv_heads = kv_heads;
  attention.head_dim = plain.head_dim;
  attention.router = experts.router;
  attention.rope = plain.rope;
  for (nn::LayerOptions& layer : model.layers) {
    layer.norm.epsilon = 1e-6;  // regardless of rms_norm_eps
    layer.attention_path = "self_attention";
    layer.mixer = attention;
    layer.feed_forward = experts;
  }
  return model;
}

}  // namespace pippin::models
