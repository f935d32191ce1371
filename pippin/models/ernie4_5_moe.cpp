// ERNIE 4.5 MoE (Baidu 2025): ERNIE 4.5 with experts in a range of its layers.
#include <string>

#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/config/experts_config.h"

namespace pippin::models {
namespace {

nn::DecoderOptions before_experts(const Config& config, bool bias) {
  nn::DecoderOptions model = llama_like(config, {.vocab_size = 103424,
                                                 .hidden_size = 2560,
                                                 .intermediate_size = 12288,
                                                 .num_layers = 28,
                                                 .num_heads = 20,
                                                 .num_kv_heads = 4,
                                                 .context = 131072,
                                                 .epsilon = 1e-5,
                                                 .rope_theta = 5e5,
                                                 .tied = true});
  for (nn::LayerOptions& layer : model.layers) {
    layer.attention().qkv_bias = layer.attention().output_bias = bias;
    layer.attention().interleaved = true;
    layer.mlp().bias = bias;
  }
  return model;
}

}  // namespace

nn::DecoderOptions ernie4_5_moe(const Config& config) {
  const bool bias = config.flag("use_bias", false);
  nn::DecoderOptions model = before_experts(config, bias);
  model.head_bias = bias;
  nn::ExpertsOptions experts = experts_of(config, model,
                                          {.count_key = "moe_num_experts",
                                           .count = 64,
                                           .top_k_key = "moe_k",
                                           .top_k = 6,
                                           .width = 1536});
  experts.weights.bias = bias;
  experts.router.correction = "moe_statics.e_score_correction_bias";
  experts.router.correction_row = true;
  experts.router.normalized = true;
  experts.router.least_sum = config.number("moe_norm_min", 1e-12);
  const auto shared = config.find("moe_num_shared_experts");
  const int64_t count = shared ? shared->as_int() : 2;
  if (count < 0 || count > kMaxExperts) config.invalid("moe_num_shared_experts", "out of range");
  if (count > 0) {
    experts.shared_path = "shared_experts";
    add_shared_expert(experts, model, experts.weights.hidden_features * count);
  }
  const auto at = [&](std::string_view key, int64_t fallback) {
    const auto value = config.find(key);
    return value ? value->as_int() : fallback;
  };
  const auto layers = static_cast<int64_t>(model.layers.size());
  const int64_t first = at("moe_layer_start_index", 1), end = at("moe_layer_end_index", -1);
  const int64_t last = end == -1 ? layers - 1 : end;
  const int64_t interval = config.size("moe_layer_interval", 1, kMaxLayers);
  for (int64_t i = 0; i < layers; ++i) {
    if ((i + 1) % interval == 0 && i >= first && i <= last) {
      model.layers[static_cast<size_t>(i)].feed_forward = experts;
    }
  }
  return model;
}

// The language model of ERNIE 4.5-VL, whose experts for text come first, with the first of each
// list of sizes.
nn::DecoderOptions ernie4_5_vl_moe_text(const Config& config) {
  const bool bias = config.flag("use_bias", false);
  nn::DecoderOptions model = before_experts(config, bias);
  const auto widths = config.find("moe_intermediate_size");
  const bool listed = widths && widths->is_array() && widths->size() > 0;
  nn::ExpertsOptions experts = experts_of(config, model,
                                          {.count_key = "moe_num_experts",
                                           .count = 64,
                                           .top_k_key = "moe_k",
                                           .top_k = 6,
                                           .width_key = listed ? "" : "moe_intermediate_size",
                                           .width = 1536});
  if (listed) experts.weights.hidden_features = widths->at(size_t{0}).as_int(1, kMaxSize);
  const int64_t width = experts.weights.hidden_features;
  experts.weights.bias = bias;
  experts.router.transposed = true;
  experts.router.correction = "moe_statics.e_score_correction_bias";
  experts.router.correction_row = true;
  experts.router.correction_rows = 2;
  experts.router.normalized = true;
  experts.router.least_sum = config.number("moe_norm_min", 1e-12);
  const auto shared = config.find("moe_num_shared_experts");
  const int64_t count = shared ? shared->as_int(0, kMaxExperts) : 2;
  if (count > 0) {
    experts.shared_path = "shared_experts";
    add_shared_expert(experts, model, width * count);
  }
  use_experts_by_type(config, model, experts, 1);
  // The experts for pictures.
  for (size_t i = 0; i < model.layers.size(); ++i) {
    const std::string mlp = "layers." + std::to_string(i) + ".mlp.";
    model.unused.push_back(mlp + "gate.weight_1");
    for (int64_t expert = 0; expert < experts.weights.num_experts; ++expert) {
      const int64_t number = experts.weights.num_experts + expert;
      model.unused.push_back(mlp + "experts." + std::to_string(number) + ".");
    }
  }
  return model;
}

}  // namespace pippin::models
