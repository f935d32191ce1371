// Hunyuan dense (Tencent 2025): Llama with an RMSNorm on each head of q and k after the rotation.
#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"

namespace pippin::models {

nn::DecoderOptions hunyuan_v1_dense(const Config& config) {
  nn::DecoderOptions model = llama_like(config, {.vocab_size = 290943,
                                                 .hidden_size = 4096,
                                                 .intermediate_size = 11008,
                                                 .num_layers = 32,
                                                 .num_heads = 32,
                                                 .context = 2048,
                                                 .epsilon = 1e-5});
  const bool bias = config.flag("attention_bias", false);
  for (nn::LayerOptions& layer : model.layers) {
    layer.attention().qkv_bias = layer.attention().output_bias = bias;
    layer.attention().qk_norm = {.place = nn::QkNorm::Place::AfterRope,
                                 .norm = layer.norm,
                                 .query = "query_layernorm",
                                 .key = "key_layernorm"};
  }
  return model;
}

}  // namespace pippin::models
