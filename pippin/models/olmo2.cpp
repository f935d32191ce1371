// OLMo 2 (Ai2 2025): norms after attention and feed-forward instead of before, and over the whole
// projections of q and k.
#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/lineages.h"

namespace pippin::models {

nn::DecoderOptions olmo2_like(const Config& config, const Defaults& defaults) {
  nn::DecoderOptions model = llama_like(config, defaults);
  const bool bias = config.flag("attention_bias", false);
  for (nn::LayerOptions& layer : model.layers) {
    layer.attention_norm.clear();
    layer.attention_post_norm = "post_attention_layernorm";
    layer.mlp_norm.clear();
    layer.mlp_post_norm = "post_feedforward_layernorm";
    layer.attention().qkv_bias = layer.attention().output_bias = bias;
    layer.attention().qk_norm = {.place = nn::QkNorm::Place::Projection, .norm = layer.norm};
  }
  return model;
}

Defaults olmo2_defaults() {
  return {.vocab_size = 50304,
          .hidden_size = 4096,
          .intermediate_size = 11008,
          .num_layers = 32,
          .num_heads = 32,
          .context = 2048,
          .epsilon = 1e-5};
}

nn::DecoderOptions olmo2(const Config& config) {
  return olmo2_like(config, olmo2_defaults());
}

}  // namespace pippin::models
