// DeepSeek-V2 and V2-Lite (2024): latent attention, and experts of which some serve every token.
#include <algorithm>
#include <string>

#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/config/experts_config.h"
#include "pippin/models/config/latent_config.h"

namespace pippin::models {

nn::DecoderOptions deepseek_v2(const Config& config) {
  nn::DecoderOptions model = latent_like(
      config,
      {.vocab_size = 32000,
       .hidden_size = 4096,
       .intermediate_size = 11008,
       .num_layers = 32,
       .num_heads = 32,
       .context = 2048},
      {.query_rank = 1536, .latent = 512, .plain_dims = 128, .rope_dims = 64, .value_dims = 128});
  scale_by_yarn(config, model);
  config.require_flag("mlp_bias", false, false);
  nn::ExpertsOptions experts = experts_of(
      config, model, {.count_key = "n_routed_experts", .count = 64, .top_k = 6, .width = 1407});
  const std::string method = config.text("topk_method", "greedy");
  if (method == "group_limited_greedy") {
    read_groups(config, experts.router);
  } else if (method != "greedy") {
    config.unsupported("topk_method", "only greedy and group_limited_greedy are supported");
  }
  // Hugging Face's class reads norm_topk_prob but does not use it.
  config.ignore({"norm_topk_prob"});
  experts.router.scale = config.number("routed_scaling_factor", 1.0);
  if (const auto shared = config.find_size("n_shared_experts", kMaxExperts)) {
    experts.shared_path = "shared_experts";
    add_shared_expert(experts, model, experts.weights.hidden_features * *shared);
  }
  const auto dense = config.find("first_k_dense_replace");
  use_experts_after(model, experts, dense ? std::max<int64_t>(0, dense->as_int()) : 0);
  return model;
}

}  // namespace pippin::models
