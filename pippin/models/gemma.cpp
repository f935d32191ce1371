// Gemma (Google 2024): Llama with (1 + w) in its norms, embeddings times sqrt(hidden_size), a GELU
// in the gate, heads wider than hidden_size / num_heads.
#include <cmath>

#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"

namespace pippin::models {

nn::DecoderOptions gemma_like(const Config& config, const Defaults& defaults,
                              std::string_view activation_key) {
  Defaults own = defaults;
  own.activation_key = activation_key;
  own.activation = "gelu_pytorch_tanh";
  own.tied = true;
  nn::DecoderOptions model = llama_like(config, own);
  model.norm.one_plus = true;
  model.embedding_scale = std::sqrt(static_cast<double>(model.hidden_size));
  const bool bias = config.flag("attention_bias", false);
  for (nn::LayerOptions& layer : model.layers) {
    layer.norm = model.norm;
    layer.attention().qkv_bias = layer.attention().output_bias = bias;
  }
  return model;
}

// Since version 4.48 Hugging Face follows hidden_act and ignores hidden_activation.
nn::DecoderOptions gemma(const Config& config) {
  config.ignore({"hidden_activation"});
  return gemma_like(config,
                    {.vocab_size = 256000,
                     .hidden_size = 3072,
                     .intermediate_size = 24576,
                     .num_layers = 28,
                     .num_heads = 16,
                     .num_kv_heads = 16,
                     .head_dim = 256,
                     .context = 8192},
                    "hidden_act");
}

}  // namespace pippin::models
