// Nemotron-4 and Minitron (NVIDIA): LayerNorms with (1 + w), a feed-forward with the square of a
// ReLU and no gate, rotation of a part of each head.
#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"

namespace pippin::models {

nn::DecoderOptions nemotron(const Config& config) {
  nn::DecoderOptions model = llama_like(config, {.vocab_size = 256000,
                                                 .hidden_size = 6144,
                                                 .intermediate_size = 24576,
                                                 .num_layers = 32,
                                                 .num_heads = 48,
                                                 .context = 4096,
                                                 .epsilon_key = "norm_eps",
                                                 .epsilon = 1e-5,
                                                 .activation = "relu2",
                                                 .rotary_factor = 0.5});
  model.norm.kind = nn::NormOptions::Kind::Layer;
  model.norm.bias = model.norm.one_plus = true;
  const bool attention_bias = config.flag("attention_bias", false);
  const bool mlp_bias = config.flag("mlp_bias", false);
  for (nn::LayerOptions& layer : model.layers) {
    layer.norm = model.norm;
    layer.attention().qkv_bias = layer.attention().output_bias = attention_bias;
    layer.mlp().gated = false;
    layer.mlp().bias = mlp_bias;
  }
  return model;
}

}  // namespace pippin::models
