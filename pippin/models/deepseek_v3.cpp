// DeepSeek-V3 and R1, Moonlight, Kimi K2 (2024, 2025): latent attention, and experts chosen by a
// corrected sigmoid within groups.
#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/config/experts_config.h"
#include "pippin/models/config/latent_config.h"
#include "pippin/models/lineages.h"

namespace pippin::models {

nn::DecoderOptions deepseek_like(const Config& config, const DeepseekDefaults& defaults) {
  nn::DecoderOptions model = latent_like(config, defaults.sizes, defaults.latent);
  scale_by_yarn(config, model);
  const bool interleaved = config.flag("rope_interleave", true);
  for (nn::LayerOptions& layer : model.layers) {
    std::get<nn::LatentAttentionOptions>(layer.mixer).interleaved = interleaved;
  }
  nn::ExpertsOptions experts = experts_of(config, model, defaults.experts);
  use_corrected_sigmoid(config, experts, true);
  read_groups(config, experts.router, defaults.groups, defaults.top_groups);
  experts.router.scale = config.number("routed_scaling_factor", defaults.routed_scale);
  add_shared_experts(config, experts, model, "n_shared_experts", 1);
  use_experts_by_type(config, model, experts, defaults.dense);
  skip_prediction_layers(config, model, 0);
  predict_like_deepseek(model);
  return model;
}

nn::DecoderOptions deepseek_v3(const Config& config) {
  return deepseek_like(
      config,
      {.sizes = {.vocab_size = 129280,
                 .hidden_size = 7168,
                 .intermediate_size = 18432,
                 .num_layers = 61,
                 .num_heads = 128,
                 .context = 4096},
       .latent = {.query_rank = 1536,
                  .latent = 512,
                  .plain_dims = 128,
                  .rope_dims = 64,
                  .value_dims = 128},
       .experts = {.count_key = "n_routed_experts", .count = 256, .top_k = 8, .width = 2048},
       .groups = 8,
       .top_groups = 4,
       .routed_scale = 2.5});
}

// The same under another name.
nn::DecoderOptions kimi_k2(const Config& config) {
  return deepseek_v3(config);
}

}  // namespace pippin::models
