// Seed-OSS (ByteDance 2025): Llama with biases on q, k and v, and a separate head size.
#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"

namespace pippin::models {

nn::DecoderOptions seed_oss(const Config& config) {
  nn::DecoderOptions model = llama_like(config, {.vocab_size = 155136,
                                                 .hidden_size = 4096,
                                                 .intermediate_size = 27648,
                                                 .num_layers = 64,
                                                 .num_heads = 80,
                                                 .num_kv_heads = 8,
                                                 .head_dim = 128,
                                                 .context = 524288});
  const bool bias = config.flag("attention_bias", true);
  const bool output_bias = config.flag("attention_out_bias", false);
  const bool mlp_bias = config.flag("mlp_bias", false);
  for (nn::LayerOptions& layer : model.layers) {
    layer.attention().qkv_bias = bias;
    layer.attention().output_bias = output_bias;
    layer.mlp().bias = mlp_bias;
  }
  return model;
}

}  // namespace pippin::models
