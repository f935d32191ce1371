// Hunyuan 3 (Tencent 2026): norms on each head of q and k, experts chosen by a corrected sigmoid
// and a shared one.
#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/config/experts_config.h"

namespace pippin::models {

nn::DecoderOptions hy_v3(const Config& given) {
  Config config = given;
  config.alias("num_experts", "num_local_experts");
  nn::DecoderOptions model = llama_like(config, {.vocab_size = 120832,
                                                 .hidden_size = 4096,
                                                 .intermediate_size = 13312,
                                                 .num_layers = 80,
                                                 .num_heads = 64,
                                                 .num_kv_heads = 8,
                                                 .head_dim = 128,
                                                 .context = 131072,
                                                 .epsilon = 1e-5,
                                                 .rope_theta = 11158840.0});
  const bool bias = config.flag("attention_bias", false);
  const bool mlp_bias = config.flag("mlp_bias", false);
  for (nn::LayerOptions& layer : model.layers) {
    layer.attention().qkv_bias = layer.attention().output_bias = bias;
    layer.attention().qk_norm = {.place = nn::QkNorm::Place::BeforeRope, .norm = layer.norm};
    layer.mlp().bias = mlp_bias;
  }
  nn::ExpertsOptions experts = experts_of(config, model, {.count = 192, .top_k = 8, .width = 1536});
  experts.router.path = "router.gate";
  experts.router.scores = nn::RouterOptions::Scores::Sigmoid;
  experts.router.correction = "expert_bias";
  experts.router.normalized = true;
  experts.router.added_to_sum = 1e-20;
  experts.router.scale = config.number("router_scaling_factor", 2.826);
  add_shared_experts(config, experts, model, "num_shared_experts", 1);
  experts.shared_path = "shared_mlp";
  use_experts_by_type(config, model, experts, 1);
  skip_prediction_layers(config, model, 0);
  return model;
}

}  // namespace pippin::models
