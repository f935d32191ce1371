// BitNet b1.58 (Microsoft 2025): Llama with norms before the output projections of attention and
// feed-forward, and a gate of squared ReLU. Published weights are packed, of three values each;
// activations are not rounded to 8 bits as in training.
#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"

namespace pippin::models {

nn::DecoderOptions bitnet(const Config& config) {
  nn::DecoderOptions model = llama_like(config, {.vocab_size = 128256,
                                                 .hidden_size = 2560,
                                                 .intermediate_size = 6912,
                                                 .num_layers = 30,
                                                 .num_heads = 20,
                                                 .num_kv_heads = 5,
                                                 .context = 2048,
                                                 .epsilon = 1e-5,
                                                 .activation = "relu2",
                                                 .rope_theta = 5e5});
  const bool bias = config.flag("attention_bias", false);
  for (nn::LayerOptions& layer : model.layers) {
    layer.attention().qkv_bias = layer.attention().output_bias = bias;
    layer.attention().output_norm = {"attn_sub_norm", layer.norm};
    layer.mlp().inner_norm = {"ffn_sub_norm", layer.norm};
  }
  return model;
}

}  // namespace pippin::models
