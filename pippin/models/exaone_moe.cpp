// K-EXAONE (LG AI Research 2026): EXAONE 4's attention in Llama's form of layers, with
// DeepSeek-V3's experts.
#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/config/experts_config.h"
#include "pippin/models/lineages.h"

namespace pippin::models {

nn::DecoderOptions exaone_moe(const Config& config) {
  nn::DecoderOptions model = llama_like(config, {.vocab_size = 102400,
                                                 .hidden_size = 4096,
                                                 .intermediate_size = 16384,
                                                 .num_layers = 32,
                                                 .num_heads = 32,
                                                 .num_kv_heads = 32,
                                                 .context = 2048,
                                                 .epsilon = 1e-5});
  slide_exaone(config, model);
  nn::ExpertsOptions experts = experts_of(config, model, {.count = 64, .top_k = 8, .width = 1024});
  use_corrected_sigmoid(config, experts, true);
  experts.router.correction = "e_score_correction_bias";
  experts.router.scale = config.number("routed_scaling_factor", 2.5);
  add_shared_experts(config, experts, model, "num_shared_experts", 1);
  use_experts_by_type(config, model, experts, 1);
  skip_prediction_modules(config, model, "num_nextn_predict_layers", "mtp.");
  return model;
}

}  // namespace pippin::models
