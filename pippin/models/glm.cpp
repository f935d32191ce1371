// GLM-4-9B (Zhipu, the Hugging Face form): Llama with biases on q, k and v, gate and up in one
// matrix, neighbouring pairs of half of each head rotated.
#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"

namespace pippin::models {

nn::DecoderOptions glm(const Config& config) {
  nn::DecoderOptions model = llama_like(config, {.vocab_size = 151552,
                                                 .hidden_size = 4096,
                                                 .intermediate_size = 13696,
                                                 .num_layers = 40,
                                                 .num_heads = 32,
                                                 .num_kv_heads = 2,
                                                 .head_dim = 128,
                                                 .context = 131072,
                                                 .epsilon = 1.5625e-07,
                                                 .rotary_factor = 0.5});
  const bool bias = config.flag("attention_bias", true);
  for (nn::LayerOptions& layer : model.layers) {
    layer.attention().qkv_bias = bias;
    layer.attention().interleaved = true;
    layer.mlp().fused = true;
    layer.mlp().gate = "gate_up_proj";
  }
  return model;
}

}  // namespace pippin::models
