// Youtu-LLM (Tencent 2026): DeepSeek's latent attention with dense feed-forwards.
#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/config/latent_config.h"

namespace pippin::models {

nn::DecoderOptions youtu(const Config& config) {
  nn::DecoderOptions model = latent_like(
      config,
      {.vocab_size = 128256,
       .hidden_size = 2048,
       .intermediate_size = 6144,
       .num_layers = 32,
       .num_heads = 16,
       .context = 131072,
       .tied = true},
      {.query_rank = 1536, .latent = 512, .plain_dims = 128, .rope_dims = 64, .value_dims = 128});
  scale_by_yarn(config, model);
  const bool interleaved = config.flag("rope_interleave", true);
  for (nn::LayerOptions& layer : model.layers) {
    std::get<nn::LatentAttentionOptions>(layer.mixer).interleaved = interleaved;
  }
  return model;
}

}  // namespace pippin::models
