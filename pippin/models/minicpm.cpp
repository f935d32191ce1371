// MiniCPM (OpenBMB 2024): Llama with scaled embeddings, residuals and logits.
#include <cmath>

#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"

namespace pippin::models {

nn::DecoderOptions minicpm(const Config& config) {
  nn::DecoderOptions model = llama_like(config, {.vocab_size = 32000,
                                                 .hidden_size = 4096,
                                                 .intermediate_size = 11008,
                                                 .num_layers = 32,
                                                 .num_heads = 32,
                                                 .context = 2048});
  model.embedding_scale = config.number("scale_emb", 1.0);
  const auto base = static_cast<double>(config.size("dim_model_base", 1));
  model.logit_scale = base / static_cast<double>(model.hidden_size);
  const double residual =
      config.number("scale_depth", 1.0) / std::sqrt(static_cast<double>(model.layers.size()));
  const bool bias = config.flag("attention_bias", false);
  for (nn::LayerOptions& layer : model.layers) {
    layer.residual_scale = residual;
    layer.attention().qkv_bias = layer.attention().output_bias = bias;
  }
  return model;
}

}  // namespace pippin::models
