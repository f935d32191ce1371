// Helium (Kyutai 2025): Llama with neighbouring pairs rotated.
#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"

namespace pippin::models {

nn::DecoderOptions helium(const Config& config) {
  nn::DecoderOptions model = llama_like(config, {.vocab_size = 48000,
                                                 .hidden_size = 2560,
                                                 .intermediate_size = 7040,
                                                 .num_layers = 24,
                                                 .num_heads = 20,
                                                 .num_kv_heads = 20,
                                                 .head_dim = 128,
                                                 .context = 4096,
                                                 .epsilon = 1e-8,
                                                 .rope_theta = 1e5});
  const bool attention_bias = config.flag("attention_bias", false);
  const bool mlp_bias = config.flag("mlp_bias", false);
  for (nn::LayerOptions& layer : model.layers) {
    // Hugging Face's o_proj never has a bias.
    layer.attention().qkv_bias = attention_bias;
    layer.attention().interleaved = true;
    layer.mlp().bias = mlp_bias;
  }
  return model;
}

}  // namespace pippin::models
