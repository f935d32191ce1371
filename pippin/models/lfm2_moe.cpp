// LFM2-8B-A1B (Liquid AI 2025): LFM2 with experts in all but the first layers, chosen by a
// corrected sigmoid.
#include <algorithm>

#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/config/experts_config.h"
#include "pippin/models/lineages.h"

namespace pippin::models {

nn::DecoderOptions lfm2_moe(const Config& given) {
  Config config = given;
  config.alias("tie_word_embeddings", "tie_embedding");
  nn::DecoderOptions model = lfm2_like(config, {.vocab_size = 65536,
                                                .hidden_size = 2048,
                                                .intermediate_size = 7168,
                                                .num_layers = 32,
                                                .num_heads = 32,
                                                .num_kv_heads = 8,
                                                .context = 128000,
                                                .epsilon_key = "norm_eps",
                                                .epsilon = 1e-5,
                                                .rope_theta = 1e6,
                                                .tied = true});
  nn::ExpertsOptions experts = experts_of(config, model, {.count = 32, .top_k = 4, .width = 1792});
  experts.router.scores = nn::RouterOptions::Scores::Sigmoid;
  if (config.flag("use_expert_bias", true)) experts.router.correction = "expert_bias";
  experts.router.normalized = config.flag("norm_topk_prob", true);
  experts.router.added_to_sum = 1e-6;
  experts.router.scale = config.number("routed_scaling_factor", 1.0);
  experts.weights.gate = "w1";
  experts.weights.up = "w3";
  experts.weights.down = "w2";
  const auto dense = config.find("num_dense_layers");
  use_experts_after(model, experts, dense ? std::max<int64_t>(0, dense->as_int()) : 2);
  return model;
}

}  // namespace pippin::models
