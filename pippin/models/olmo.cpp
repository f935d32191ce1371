// OLMo (Ai2 2024): Llama with LayerNorms without weights; clip_qkv clamps q, k and v.
#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"

namespace pippin::models {

nn::DecoderOptions olmo(const Config& config) {
  nn::DecoderOptions model = llama_like(config, {.vocab_size = 50304,
                                                 .hidden_size = 4096,
                                                 .intermediate_size = 11008,
                                                 .num_layers = 32,
                                                 .num_heads = 32,
                                                 .context = 2048});
  model.norm = {.kind = nn::NormOptions::Kind::Layer, .epsilon = 1e-5, .weight = false};
  const bool bias = config.flag("attention_bias", false);
  const auto clip = config.find_number("clip_qkv");
  for (nn::LayerOptions& layer : model.layers) {
    layer.norm = model.norm;
    layer.attention().qkv_bias = layer.attention().output_bias = bias;
    layer.attention().clip = clip;
  }
  return model;
}

}  // namespace pippin::models
