// Llama (Touvron et al. 2023), Llama 2 and 3, and the many models of the same form: TinyLlama,
// SmolLM2, Yi, DeepSeek-R1-Distill-Llama, ...: RMSNorm, rotary positions, grouped-query attention,
// SwiGLU.
#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"

namespace pippin::models {

nn::DecoderOptions llama(const Config& config) {
  nn::DecoderOptions model = llama_like(config, {.vocab_size = 32000,
                                                 .hidden_size = 4096,
                                                 .intermediate_size = 11008,
                                                 .num_layers = 32,
                                                 .num_heads = 32,
                                                 .context = 2048});
  const bool attention_bias = config.flag("attention_bias", false);
  const bool mlp_bias = config.flag("mlp_bias", false);
  for (nn::LayerOptions& layer : model.layers) {
    layer.attention().qkv_bias = layer.attention().output_bias = attention_bias;
    layer.mlp().bias = mlp_bias;
  }
  return model;
}

}  // namespace pippin::models
