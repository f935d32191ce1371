// GLM-4-0414 (Zhipu): GLM with norms after attention and feed-forward too.
#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"

namespace pippin::models {

nn::DecoderOptions glm4(const Config& config) {
  nn::DecoderOptions model = glm(config);
  for (nn::LayerOptions& layer : model.layers) {
    layer.attention_post_norm = "post_self_attn_layernorm";
    layer.mlp_post_norm = "post_mlp_layernorm";
  }
  return model;
}

// The language model of GLM-4.1V, whose files give the rotated part of a head, by default all.
nn::DecoderOptions glm4v_text(const Config& config) {
  nn::DecoderOptions model = llama_like(config, {.vocab_size = 151552,
                                                 .hidden_size = 4096,
                                                 .intermediate_size = 13696,
                                                 .num_layers = 40,
                                                 .num_heads = 32,
                                                 .num_kv_heads = 2,
                                                 .context = 32768,
                                                 .epsilon = 1e-5,
                                                 .rotary_factor = 1.0});
  const bool bias = config.flag("attention_bias", true);
  for (nn::LayerOptions& layer : model.layers) {
    layer.attention().qkv_bias = bias;
    layer.attention().interleaved = true;
    layer.mlp().fused = true;
    layer.mlp().gate = "gate_up_proj";
    layer.attention_post_norm = "post_self_attn_layernorm";
    layer.mlp_post_norm = "post_mlp_layernorm";
  }
  return model;
}

}  // namespace pippin::models
