// Granite 3 MoE (IBM 2024): Granite with experts whose matrices are one tensor, chosen before the
// softmax of their scores.
#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/config/experts_config.h"
#include "pippin/models/lineages.h"

namespace pippin::models {

nn::ExpertsOptions granite_experts(const Config& config, const nn::DecoderOptions& model) {
  nn::ExpertsOptions experts = experts_of(config, model,
                                          {.count_key = "num_local_experts",
                                           .count = 8,
                                           .top_k = 2,
                                           .width_key = "intermediate_size",
                                           .width = 11008});
  experts.router.path = "block_sparse_moe.router.layer";
  experts.router.scores = nn::RouterOptions::Scores::Plain;
  experts.router.softmax_chosen = true;
  experts.path = "block_sparse_moe";
  experts.weights.layout = nn::ExpertWeightsOptions::Layout::Stacked;
  experts.weights.gate = "input_linear.weight";
  experts.weights.down = "output_linear.weight";
  return experts;
}

nn::DecoderOptions granitemoe(const Config& config) {
  nn::DecoderOptions model = granite_like(config, {.vocab_size = 32000,
                                                   .hidden_size = 4096,
                                                   .intermediate_size = 11008,
                                                   .num_layers = 32,
                                                   .num_heads = 32,
                                                   .context = 2048});
  const nn::ExpertsOptions experts = granite_experts(config, model);
  for (nn::LayerOptions& layer : model.layers) {
    layer.mlp_path.clear();
    layer.feed_forward = experts;
  }
  return model;
}

}  // namespace pippin::models
