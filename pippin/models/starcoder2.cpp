// StarCoder2 (BigCode): LayerNorms and biases, a plain feed-forward, rotary positions, a window in
// every layer if sliding_window is a number.
#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"

namespace pippin::models {

nn::DecoderOptions starcoder2(const Config& config) {
  nn::DecoderOptions model = llama_like(config, {.vocab_size = 49152,
                                                 .hidden_size = 3072,
                                                 .intermediate_size = 12288,
                                                 .num_layers = 30,
                                                 .num_heads = 24,
                                                 .num_kv_heads = 2,
                                                 .context = 4096,
                                                 .epsilon_key = "norm_epsilon",
                                                 .epsilon = 1e-5,
                                                 .activation = "gelu_pytorch_tanh",
                                                 .tied = true});
  model.norm.kind = nn::NormOptions::Kind::Layer;
  model.norm.bias = true;
  const bool bias = config.flag("use_bias", true);
  const auto window = config.find_size("sliding_window", kMaxContext);
  for (nn::LayerOptions& layer : model.layers) {
    layer.norm = model.norm;
    layer.attention().qkv_bias = layer.attention().output_bias = bias;
    layer.attention().window = window;
    layer.mlp().gated = false;
    layer.mlp().bias = bias;
    layer.mlp().up = "c_fc";
    layer.mlp().down = "c_proj";
  }
  return model;
}

}  // namespace pippin::models
