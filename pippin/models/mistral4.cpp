// Mistral Small 4 (Mistral AI 2026): DeepSeek's latent attention with queries that grow with their
// position, experts chosen by a softmax.
#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/config/experts_config.h"
#include "pippin/models/config/latent_config.h"
#include "pippin/models/lineages.h"

namespace pippin::models {

nn::DecoderOptions mistral4(const Config& given) {
  const Config config = given.with_default_rope(
      R"({"rope_type": "yarn", "rope_theta": 10000.0, "factor": 128.0, "beta_fast": 32.0,
          "beta_slow": 1.0, "original_max_position_embeddings": 8192, "mscale": 1.0,
          "mscale_all_dim": 1.0, "llama_4_scaling_beta": 0.1})");
  nn::DecoderOptions model = latent_like(
      config,
      {.vocab_size = 131072,
       .hidden_size = 4096,
       .intermediate_size = 12288,
       .num_layers = 36,
       .num_heads = 32,
       .context = 1048576,
       .rope_keys = {"llama_4_scaling_beta"}},
      {.query_rank = 1024, .latent = 256, .plain_dims = 64, .rope_dims = 64, .value_dims = 128});
  scale_by_yarn(config, model);
  const bool interleaved = config.flag("rope_interleave", true);
  const auto temperature = mistral_temperature(config);
  for (nn::LayerOptions& layer : model.layers) {
    auto& attention = std::get<nn::LatentAttentionOptions>(layer.mixer);
    attention.interleaved = interleaved;
    attention.temperature = temperature;
  }
  nn::ExpertsOptions experts = experts_of(
      config, model, {.count_key = "n_routed_experts", .count = 128, .top_k = 4, .width = 2048});
  read_groups(config, experts.router);
  experts.router.group_score = nn::RouterOptions::GroupScore::SumOfTwo;
  experts.router.normalized = config.flag("norm_topk_prob", true);
  experts.router.added_to_sum = 1e-20;
  experts.router.scale = config.number("routed_scaling_factor", 1.0);
  add_shared_experts(config, experts, model, "n_shared_experts", 1);
  use_experts_by_type(config, model, experts, 0);
  return model;
}

}  // namespace pippin::models
