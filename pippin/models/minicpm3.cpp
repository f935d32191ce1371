// MiniCPM 3 (OpenBMB 2024): latent attention, and MiniCPM's scales of embeddings, residuals and
// logits.

#include <cmath>

#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/config/latent_config.h"

namespace pippin::models {

nn::DecoderOptions minicpm3(const Config& config) {
  nn::DecoderOptions model = latent_like(
      config,
      {.vocab_size = 73448,
       .hidden_size = 2560,
       .intermediate_size = 6400,
       .num_layers = 62,
       .num_heads = 40,
       .context = 32768,
       .epsilon = 1e-5,
       .tied = true},
      {.query_rank = 768, .latent = 256, .plain_dims = 64, .rope_dims = 32, .value_dims = 64});
  model.embedding_scale = config.number("scale_emb", 12.0);
  const auto width = static_cast<double>(model.hidden_size);
  model.logit_scale = config.number("dim_model_base", 256.0) / width;
  const double depth = config.number("scale_depth", 1.4);
  for (nn::LayerOptions& layer : model.layers) {
    layer.residual_scale = depth / std::sqrt(static_cast<double>(model.layers.size()));
    std::get<nn::LatentAttentionOptions>(layer.mixer).interleaved = false;
  }
  return model;
}

}  // namespace pippin::models
