// Arcee's AFM: Llama whose feed-forward has no gate, and a squared ReLU.
#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"

namespace pippin::models {

nn::DecoderOptions arcee(const Config& config) {
  nn::DecoderOptions model = llama_like(config, {.vocab_size = 32000,
                                                 .hidden_size = 2560,
                                                 .intermediate_size = 18432,
                                                 .num_layers = 32,
                                                 .num_heads = 32,
                                                 .context = 4096,
                                                 .epsilon = 1e-5,
                                                 .activation = "relu2"});
  const bool attention_bias = config.flag("attention_bias", false);
  const bool mlp_bias = config.flag("mlp_bias", false);
  for (nn::LayerOptions& layer : model.layers) {
    layer.attention().qkv_bias = layer.attention().output_bias = attention_bias;
    layer.mlp().bias = mlp_bias;
    layer.mlp().gated = false;
  }
  return model;
}

}  // namespace pippin::models
