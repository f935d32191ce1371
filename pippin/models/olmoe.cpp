// OLMoE (Ai2 2024): many small experts in every layer, norms over the whole projections of q and k,
// then q, k and v are clamped.
#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/config/experts_config.h"

namespace pippin::models {

nn::DecoderOptions olmoe(const Config& config) {
  nn::DecoderOptions model = llama_like(config, {.vocab_size = 50304,
                                                 .hidden_size = 2048,
                                                 .intermediate_size = 2048,
                                                 .num_layers = 16,
                                                 .num_heads = 16,
                                                 .context = 4096,
                                                 .epsilon = 1e-5});
  nn::ExpertsOptions experts = experts_of(
      config, model, {.count = 64, .top_k = 8, .width_key = "intermediate_size", .width = 2048});
  experts.router.normalized = config.flag("norm_topk_prob", false);
  const bool bias = config.flag("attention_bias", false);
  const auto clip = config.find_number("clip_qkv");
  for (nn::LayerOptions& layer : model.layers) {
    nn::AttentionOptions& attention = layer.attention();
    attention.qkv_bias = attention.output_bias = bias;
    attention.clip = clip;
    attention.clip_normed = true;
    attention.qk_norm = {.place = nn::QkNorm::Place::Projection, .norm = layer.norm};
    layer.feed_forward = experts;
  }
  return model;
}

}  // namespace pippin::models
