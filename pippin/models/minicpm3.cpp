// MiniCPM 3 (OpenBMB 2024): latent attention, and MiniCPM's scales of embeddings, residuals and
// logits.

#include <cmath>

#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/config/latent_config.h"

namespace pippin::models {

nn::DecoderOptions minicpm3(const Config& config) {
  const int64_t features = config.size("hidden_size", 2560);
  const int64_t heads = config.size("num_attention_heads", 40, kMaxHeads);
  nn::DecoderOptions model = latent_like(config,
                                         {.vocab_size = 73448,
                                          .hidden_size = 2560,
                                          .intermediate_size = 6400,
                                          .num_layers = 62,
                                          .num_heads = 40,
                                          .context = 32768,
                                          .epsilon = 1e-5,
                                          .tied = true},
                                         {.query_rank = 768,
                                          .latent = 256,
                                          .plain_dims = 64,
                                          .rope_dims = 32,
                                          .value_dims = features / heads});
  model.embedding_scale = config.number("scale_emb", 12.0);
  const auto width = static_cast<double>(model.hidden_size);
  // null, unlike an absent key, means that nothing is scaled.
  const auto scale = [&](std::string_view key, double usual, double none) {
    return config.number(key, config.contains(key) ? none : usual);
  };
  const double root = std::sqrt(static_cast<double>(model.layers.size()));
  model.logit_scale = scale("dim_model_base", 256.0, width) / width;
  const double depth = scale("scale_depth", 1.4, root);
  const bool mlp_bias = config.flag("mlp_bias", false);
  for (nn::LayerOptions& layer : model.layers) {
    layer.mlp().bias = mlp_bias;
    layer.residual_scale = depth / root;
    std::get<nn::LatentAttentionOptions>(layer.mixer).interleaved = false;
  }
  return model;
}

}  // namespace pippin::models
