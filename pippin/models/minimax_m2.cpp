// MiniMax-M2 (MiniMax 2025): norms over the whole of q and k, positions on a part of each head,
// Mixtral's experts chosen by a corrected sigmoid.
#include <algorithm>

#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/config/experts_config.h"

namespace pippin::models {
namespace {

// Checks keys of published files that transformers does not read.
void check_published(const Config& config) {
  const std::string scores = config.text("scoring_func", "sigmoid");
  if (scores != "sigmoid") config.unsupported("scoring_func", scores + " is not supported");
  const std::string norm = config.text("qk_norm_type", "per_layer");
  if (norm != "per_layer") config.unsupported("qk_norm_type", norm + " is not supported");
  config.require_absent("shared_intermediate_size");
  const auto kinds = config.find("attn_type_list");
  if (!kinds) return;
  const std::vector<int64_t> types = kinds->as_ints();
  if (std::any_of(types.begin(), types.end(), [](int64_t type) { return type != 1; })) {
    config.unsupported("attn_type_list", "only 1, full attention, is supported");
  }
}

}  // namespace

nn::DecoderOptions minimax_m2(const Config& config) {
  check_published(config);
  const auto turned = config.find_size("rotary_dim", kMaxHeadDim);
  const auto head_dim = static_cast<double>(config.size("head_dim", 128, kMaxHeadDim));
  nn::DecoderOptions model =
      llama_like(config, {.vocab_size = 200064,
                          .hidden_size = 3072,
                          .intermediate_size = 1536,
                          .num_layers = 62,
                          .num_heads = 48,
                          .num_kv_heads = 8,
                          .head_dim = 128,
                          .context = 196608,
                          .rope_theta = 5e6,
                          .rotary_factor = turned ? static_cast<double>(*turned) / head_dim : 1.0});
  nn::ExpertsOptions experts = experts_of(config, model,
                                          {.count_key = "num_local_experts",
                                           .count = 256,
                                           .top_k = 8,
                                           .width_key = "intermediate_size",
                                           .width = 1536});
  experts.router.scores = nn::RouterOptions::Scores::Sigmoid;
  if (config.flag("use_routing_bias", true)) experts.router.correction = "e_score_correction_bias";
  experts.router.normalized = true;
  experts.weights.gate = "w1";
  experts.weights.up = "w3";
  experts.weights.down = "w2";
  const bool normed = config.flag("use_qk_norm", true);
  for (nn::LayerOptions& layer : model.layers) {
    layer.mlp_path = "block_sparse_moe";
    layer.feed_forward = experts;
    if (!normed) continue;
    layer.attention().qk_norm = {.place = nn::QkNorm::Place::Projection, .norm = layer.norm};
  }
  skip_prediction_modules(config, model, "num_mtp_modules", "model.mtp.");
  return model;
}

}  // namespace pippin::models
