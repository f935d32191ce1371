// A.X K1 (SK Telecom 2026): DeepSeek-V3 with a norm after its experts.
#include "pippin/models/architectures.h"
#include "pippin/models/lineages.h"

namespace pippin::models {

nn::DecoderOptions axk1(const Config& config) {
  nn::DecoderOptions model = deepseek_like(
      config,
      {.sizes = {.vocab_size = 163840,
                 .hidden_size = 7168,
                 .intermediate_size = 18432,
                 .num_layers = 61,
                 .num_heads = 64,
                 .context = 32768},
       .latent = {.query_rank = 1536,
                  .latent = 512,
                  .plain_dims = 128,
                  .rope_dims = 64,
                  .value_dims = 128},
       .experts = {.count_key = "n_routed_experts", .count = 192, .top_k = 8, .width = 2048},
       .groups = 8,
       .top_groups = 4,
       .routed_scale = 2.5,
       .dense = 1});
  for (nn::LayerOptions& layer : model.layers) {
    if (!std::holds_alternative<nn::ExpertsOptions>(layer.feed_forward)) continue;
    layer.mlp_post_norm = "post_mlp_layernorm";
  }
  return model;
}

}  // namespace pippin::models
