// Jais 2 (MBZUAI 2025): LayerNorms, biases and feed-forwards of squared ReLU in Llama's form.
#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"

namespace pippin::models {

nn::DecoderOptions jais2(const Config& config) {
  nn::DecoderOptions model = llama_like(config, {.vocab_size = 150272,
                                                 .hidden_size = 3328,
                                                 .intermediate_size = 26624,
                                                 .num_layers = 32,
                                                 .num_heads = 26,
                                                 .context = 8192,
                                                 .epsilon_key = "layer_norm_eps",
                                                 .epsilon = 1e-5,
                                                 .activation = "relu2"});
  model.norm.kind = nn::NormOptions::Kind::Layer;
  model.norm.bias = true;
  const bool attention_bias = config.flag("attention_bias", true);
  const bool mlp_bias = config.flag("mlp_bias", true);
  for (nn::LayerOptions& layer : model.layers) {
    layer.norm = model.norm;
    layer.attention().qkv_bias = layer.attention().output_bias = attention_bias;
    layer.mlp().gated = false;
    layer.mlp().bias = mlp_bias;
  }
  return model;
}

}  // namespace pippin::models
