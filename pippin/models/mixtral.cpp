// Mixtral (Jiang et al. 2024): Mistral with a mixture of experts in every layer, whose chosen
// weights are normalized to the sum 1.
#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/config/experts_config.h"
#include "pippin/models/lineages.h"

namespace pippin::models {

nn::DecoderOptions mixtral_like(const Config& config, nn::ExpertsOptions& experts) {
  nn::DecoderOptions model = llama_like(config, {.vocab_size = 32000,
                                                 .hidden_size = 4096,
                                                 .intermediate_size = 14336,
                                                 .num_layers = 32,
                                                 .num_heads = 32,
                                                 .num_kv_heads = 8,
                                                 .context = 131072,
                                                 .epsilon = 1e-5,
                                                 .rope_theta = 1e6});
  experts = experts_of(config, model,
                       {.count_key = "num_local_experts",
                        .count = 8,
                        .top_k = 2,
                        .width_key = "intermediate_size",
                        .width = 14336});
  experts.router.normalized = true;
  experts.weights.gate = "w1";
  experts.weights.up = "w3";
  experts.weights.down = "w2";
  return model;
}

nn::DecoderOptions mixtral(const Config& config) {
  nn::ExpertsOptions experts;
  nn::DecoderOptions model = mixtral_like(config, experts);
  for (nn::LayerOptions& layer : model.layers) {
    layer.mlp_path = "block_sparse_moe";
    layer.feed_forward = experts;
  }
  slide(model, std::vector<bool>(model.layers.size(), true), window_size(config, std::nullopt));
  return model;
}

}  // namespace pippin::models
