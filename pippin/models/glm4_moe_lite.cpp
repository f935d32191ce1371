// GLM-4.7-Flash (Zhipu 2026): DeepSeek-V3's latent attention and experts, in other sizes.
#include "pippin/models/architectures.h"
#include "pippin/models/lineages.h"

namespace pippin::models {

nn::DecoderOptions glm4_moe_lite(const Config& config) {
  return deepseek_like(
      config, {.sizes = {.vocab_size = 154880,
                         .hidden_size = 2048,
                         .intermediate_size = 10240,
                         .num_layers = 47,
                         .num_heads = 20,
                         .num_kv_heads = 20,
                         .context = 202752,
                         .epsilon = 1e-5},
               .latent = {.query_rank = 768,
                          .latent = 512,
                          .plain_dims = 192,
                          .rope_dims = 64,
                          .value_dims = 256},
               .experts = {.count_key = "n_routed_experts", .count = 64, .top_k = 4, .width = 1536},
               .routed_scale = 1.8,
               .dense = 1});
}

}  // namespace pippin::models
