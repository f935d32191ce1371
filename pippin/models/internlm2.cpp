// InternLM2 and 2.5 (Shanghai AI Laboratory): Llama with q, k and v in one matrix, group by group.
#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"

namespace pippin::models {

nn::DecoderOptions internlm2(const Config& config) {
  nn::DecoderOptions model = llama_like(config, {.vocab_size = 103168,
                                                 .hidden_size = 4096,
                                                 .intermediate_size = 11008,
                                                 .num_layers = 32,
                                                 .num_heads = 32,
                                                 .context = 2048});
  model.embedding = "tok_embeddings";
  model.head = "output";
  const bool bias = config.flag("bias", true);
  for (nn::LayerOptions& layer : model.layers) {
    layer.attention_norm = "attention_norm";
    layer.mlp_norm = "ffn_norm";
    layer.attention_path = "attention";
    layer.mlp_path = "feed_forward";
    layer.attention().layout = nn::QkvLayout::PerGroup;
    layer.attention().qkv = "wqkv";
    layer.attention().output = "wo";
    layer.attention().qkv_bias = layer.attention().output_bias = bias;
    layer.mlp().gate = "w1";
    layer.mlp().up = "w3";
    layer.mlp().down = "w2";
  }
  return model;
}

}  // namespace pippin::models
