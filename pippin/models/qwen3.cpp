// Qwen3: Qwen2 with an RMSNorm on each head of q and k before the rotation, without biases unless
// attention_bias is set (then for o, too).
#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"

namespace pippin::models {

nn::DecoderOptions qwen3(const Config& config) {
  nn::DecoderOptions model = llama_like(config, {.vocab_size = 151936,
                                                 .hidden_size = 4096,
                                                 .intermediate_size = 22016,
                                                 .num_layers = 32,
                                                 .num_heads = 32,
                                                 .num_kv_heads = 32,
                                                 .head_dim = 128,
                                                 .context = 32768});
  const bool bias = config.flag("attention_bias", false);
  for (nn::LayerOptions& layer : model.layers) {
    nn::AttentionOptions& attention = layer.attention();
    attention.qkv_bias = attention.output_bias = bias;
    attention.qk_norm = {.place = nn::QkNorm::Place::BeforeRope, .norm = layer.norm};
  }
  slide_qwen(config, model);
  return model;
}

}  // namespace pippin::models
