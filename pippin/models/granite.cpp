// Granite 3 (IBM): Llama with multipliers on embeddings, scores and residuals, and logits that are
// divided.
#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/lineages.h"

namespace pippin::models {

nn::DecoderOptions granite_like(const Config& config, const Defaults& defaults) {
  nn::DecoderOptions model = llama_like(config, defaults);
  model.embedding_scale = config.number("embedding_multiplier", 1.0);
  model.logit_scale = 1 / config.number("logits_scaling", 1.0);
  const double residual = config.number("residual_multiplier", 1.0);
  const double scores = config.number("attention_multiplier", 1.0);
  const bool attention_bias = config.flag("attention_bias", false);
  const bool mlp_bias = config.flag("mlp_bias", false);
  for (nn::LayerOptions& layer : model.layers) {
    layer.residual_scale = residual;
    layer.attention().scale = scores;
    layer.attention().qkv_bias = layer.attention().output_bias = attention_bias;
    layer.mlp().bias = mlp_bias;
  }
  return model;
}

nn::DecoderOptions granite(const Config& config) {
  return granite_like(config, {.vocab_size = 32000,
                               .hidden_size = 4096,
                               .intermediate_size = 11008,
                               .num_layers = 32,
                               .num_heads = 32,
                               .context = 2048});
}

}  // namespace pippin::models
