// Emu3's language model (BAAI 2024), a Llama.
#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"

namespace pippin::models {

nn::DecoderOptions emu3_text_model(const Config& config) {
  nn::DecoderOptions model = llama_like(config, {.vocab_size = 184622,
                                                 .hidden_size = 4096,
                                                 .intermediate_size = 14336,
                                                 .num_layers = 32,
                                                 .num_heads = 32,
                                                 .num_kv_heads = 8,
                                                 .context = 9216,
                                                 .epsilon = 1e-5,
                                                 .rope_theta = 1e6});
  const bool attention_bias = config.flag("attention_bias", false);
  const bool mlp_bias = config.flag("mlp_bias", false);
  for (nn::LayerOptions& layer : model.layers) {
    layer.attention().qkv_bias = layer.attention().output_bias = attention_bias;
    layer.mlp().bias = mlp_bias;
  }
  return model;
}

}  // namespace pippin::models
