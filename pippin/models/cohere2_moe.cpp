// Command A with experts (Cohere 2026): Cohere 2's parallel layers, of which the first may be
// dense, then with positions; experts chosen by their scores, and a shared one that may be averaged
// with them.

#include <algorithm>
#include <string>

#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/config/experts_config.h"

namespace pippin::models {

namespace {

nn::ExpertsOptions cohere2_experts(const Config& config, const nn::DecoderOptions& model) {
  nn::ExpertsOptions experts = experts_of(
      config, model, {.count = 8, .top_k = 2, .width_key = "intermediate_size", .width = 22528});
  const std::string chosen = config.text("expert_selection_fn", "softmax");
  experts.router.scores = nn::RouterOptions::Scores::Plain;
  experts.router.softmax_chosen = chosen == "softmax";
  experts.router.sigmoid_chosen = chosen == "sigmoid";
  if (chosen != "softmax" && chosen != "sigmoid") {
    config.unsupported("expert_selection_fn",
                       "'" + chosen + "' is not supported (known: softmax, sigmoid)");
  }
  const bool normalized = config.flag("norm_topk_prob", true);
  experts.router.normalized = chosen == "sigmoid" && normalized;
  const auto shared = config.find("num_shared_experts");
  const int64_t count = shared ? shared->as_int(0, kMaxExperts) : 0;
  if (count == 0) return experts;
  experts.shared_path = "shared_experts";
  add_shared_expert(experts, model, experts.weights.hidden_features * count);
  const std::string together = config.text("shared_expert_combination_strategy", "average");
  if (together != "average" && together != "sum") {
    config.unsupported("shared_expert_combination_strategy",
                       "'" + together + "' is not supported (known: average, sum)");
  }
  if (together == "average") experts.result_scale = 0.5;
  return experts;
}

// The layers' kinds of windows: the pattern begins again after the first layers, which are dense.
std::string window_kinds(const Config& config) {
  const int64_t count = config.size("num_hidden_layers", 40, kMaxLayers);
  const int64_t every = config.size("sliding_window_pattern", 4, kMaxLayers);
  const int64_t own = config.size("prefix_dense_sliding_window_pattern", 1, kMaxLayers);
  const auto first = config.find("first_k_dense_replace");
  const int64_t dense = first ? std::clamp<int64_t>(first->as_int(), 0, count) : 0;
  JsonWriter writer;
  writer.begin_array();
  for (int64_t i = 0; i < count; ++i) {
    const bool slides = i < dense ? (i + 1) % own != 0 : (i - dense + 1) % every != 0;
    writer.value(slides ? "sliding_attention" : "full_attention");
  }
  return writer.end_array().text();
}

}  // namespace

nn::DecoderOptions cohere2_moe(const Config& given) {
  const Config config =
      given.with_default("head_dim", "128").with_default("layer_types", window_kinds(given));
  nn::DecoderOptions model = cohere2(config);
  if (const auto epsilon = config.find_number("rms_norm_eps")) {
    model.norm = {.kind = nn::NormOptions::Kind::RMS, .epsilon = *epsilon};
  }
  const int64_t width =
      config.size("prefix_dense_intermediate_size", model.layers.at(0).mlp().hidden_features);
  const nn::ExpertsOptions experts = cohere2_experts(config, model);
  const bool turned = config.size("prefix_dense_sliding_window_pattern", 1, kMaxLayers) == 1;
  use_experts_by_type(config, model, experts, 0);
  for (nn::LayerOptions& layer : model.layers) {
    layer.norm = model.norm;
    if (std::holds_alternative<nn::ExpertsOptions>(layer.feed_forward)) continue;
    layer.mlp().hidden_features = width;
    if (turned) layer.attention().rope = 0;
  }
  return model;
}

}  // namespace pippin::models
