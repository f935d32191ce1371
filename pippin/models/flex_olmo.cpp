// FlexOlmo (Ai2 2025): OLMo 2 with OLMoE's experts.
#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/config/experts_config.h"
#include "pippin/models/lineages.h"

namespace pippin::models {

nn::DecoderOptions flex_olmo(const Config& config) {
  nn::DecoderOptions model = olmo2_like(config, {.vocab_size = 100352,
                                                 .hidden_size = 4096,
                                                 .intermediate_size = 11008,
                                                 .num_layers = 32,
                                                 .num_heads = 32,
                                                 .context = 4096,
                                                 .rope_theta = 5e5});
  nn::ExpertsOptions experts = experts_of(
      config, model, {.count = 7, .top_k = 5, .width_key = "intermediate_size", .width = 11008});
  experts.router.normalized = config.flag("norm_topk_prob", false);
  use_experts_after(model, experts, 0);
  return model;
}

}  // namespace pippin::models
