#include "pippin/models/config/experts_config.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "pippin/models/config/common.h"
#include "pippin/models/config/state_spaces.h"

namespace pippin::models {

namespace {

// The key of the number of experts: the architecture's, or another one that means the same.
std::string_view count_key(const Config& config, std::string_view usual) {
  for (const std::string_view key :
       {usual, std::string_view("num_local_experts"), std::string_view("num_experts"),
        std::string_view("n_routed_experts")}) {
    if (config.find(key)) return key;
  }
  return usual;
}

}  // namespace

nn::ExpertsOptions experts_of(const Config& config, const nn::DecoderOptions& model,
                              const ExpertDefaults& defaults) {
  nn::ExpertsOptions experts;
  const nn::MLPOptions& dense = model.layers.at(0).mlp();
  const int64_t count =
      config.size(count_key(config, defaults.count_key), defaults.count, kMaxExperts);
  experts.router.features = model.hidden_size;
  experts.router.num_experts = count;
  experts.router.top_k = config.size(defaults.top_k_key, std::min(defaults.top_k, count), count);
  experts.weights.num_experts = count;
  experts.weights.features = model.hidden_size;
  experts.weights.hidden_features = config.size(defaults.width_key, defaults.width);
  experts.activation = dense.activation;
  return experts;
}

void add_shared_expert(nn::ExpertsOptions& experts, const nn::DecoderOptions& model,
                       int64_t width) {
  experts.shared = model.layers.at(0).mlp();
  experts.shared->hidden_features = width;
}

void add_shared_experts(const Config& config, nn::ExpertsOptions& experts,
                        const nn::DecoderOptions& model, std::string_view key, int64_t usual) {
  const auto given = config.find(key);
  const int64_t none_or_usual = config.contains(key) ? 0 : usual;
  const int64_t count = given ? given->as_int(0, kMaxExperts) : none_or_usual;
  if (count == 0) return;
  experts.shared_path = "shared_experts";
  add_shared_expert(experts, model, experts.weights.hidden_features * count);
}

void read_groups(const Config& config, nn::RouterOptions& router, int64_t groups,
                 int64_t top_groups) {
  router.groups = config.size("n_group", std::min(groups, router.num_experts), router.num_experts);
  router.top_groups = config.size("topk_group", std::min(top_groups, router.groups), router.groups);
  // All are chosen, whatever their groups.
  if (router.top_k == router.num_experts) router.groups = router.top_groups = 1;
  if (router.num_experts % router.groups != 0) {
    config.invalid("n_group",
                   fmt::format("{} groups of {} experts", router.groups, router.num_experts));
  }
  const int64_t within = router.num_experts / router.groups * router.top_groups;
  if (router.top_k > within) {
    config.invalid("topk_group", fmt::format("{} experts are chosen, {} groups have {}",
                                             router.top_k, router.top_groups, within));
  }
}

void use_corrected_sigmoid(const Config& config, nn::ExpertsOptions& experts, bool normalized) {
  nn::RouterOptions& router = experts.router;
  router.scores = nn::RouterOptions::Scores::Sigmoid;
  router.correction = "gate.e_score_correction_bias";
  router.group_score = nn::RouterOptions::GroupScore::SumOfTwo;
  read_groups(config, router);
  router.normalized = config.flag("norm_topk_prob", normalized);
  router.added_to_sum = 1e-20;
  router.scale = config.number("routed_scaling_factor", 1.0);
}

void use_experts_after(nn::DecoderOptions& model, const nn::ExpertsOptions& experts,
                       int64_t dense) {
  const auto count = static_cast<int64_t>(model.layers.size());
  for (int64_t i = std::min(dense, count); i < count; ++i) {
    model.layers[static_cast<size_t>(i)].feed_forward = experts;
  }
}

void use_experts_by_type(const Config& config, nn::DecoderOptions& model,
                         const nn::ExpertsOptions& experts, int64_t dense) {
  const auto first = config.find("first_k_dense_replace");
  if (!config.find("mlp_layer_types")) {
    return use_experts_after(model, experts, first ? std::max<int64_t>(0, first->as_int()) : dense);
  }
  const auto sparse =
      layer_kinds(config, "mlp_layer_types", model.layers.size(), "dense", "sparse");
  for (size_t i = 0; i < sparse.size(); ++i) {
    if (sparse[i]) model.layers[i].feed_forward = experts;
  }
}

void use_qwen_experts(const Config& config, nn::DecoderOptions& model,
                      const nn::ExpertsOptions& experts) {
  std::vector<int64_t> dense;
  if (const auto list = config.find("mlp_only_layers")) dense = list->as_ints();
  const int64_t step = config.size("decoder_sparse_step", 1, kMaxLayers);
  for (size_t i = 0; i < model.layers.size(); ++i) {
    const auto index = static_cast<int64_t>(i);
    const bool listed = std::find(dense.begin(), dense.end(), index) != dense.end();
    if (!listed && (index + 1) % step == 0) model.layers[i].feed_forward = experts;
  }
}

void skip_prediction_layers(const Config& config, nn::DecoderOptions& model, int64_t fallback) {
  const auto count = config.find("num_nextn_predict_layers");
  const int64_t further = count ? count->as_int(0) : fallback;
  if (further > kMaxLayers) config.invalid("num_nextn_predict_layers", "out of range");
  const auto first = static_cast<int64_t>(model.layers.size());
  for (int64_t i = 0; i < further; ++i) {
    model.other_parts.push_back(fmt::format("{}.{}.{}.", model.base, model.layers_path, first + i));
  }
  if (further > 0) {
    const auto count_of_all = model.other_parts.size();
    model.prediction = {"num_nextn_predict_layers", further,
                        model.other_parts[count_of_all - static_cast<size_t>(further)]};
  }
}

void skip_prediction_modules(const Config& config, nn::DecoderOptions& model, std::string_view key,
                             std::string_view beginning) {
  const auto count = config.find(key);
  const int64_t layers = count ? count->as_int(0) : 0;
  if (layers > kMaxLayers) config.invalid(key, "out of range");
  model.other_parts.emplace_back(beginning);
  if (layers > 0) model.prediction = {std::string(key), layers, std::string(beginning)};
}

void predict_like_deepseek(nn::DecoderOptions& model) {
  if (!model.prediction) return;
  model.prediction->form = {.projection = "eh_proj",
                            .embedding_norm = "enorm",
                            .hidden_norm = "hnorm",
                            .final_norm = "shared_head.norm",
                            .layer_path = "",
                            .layer = model.layers.back()};
}

void predict_like_qwen(nn::DecoderOptions& model) {
  if (!model.prediction) return;
  const auto last =
      std::find_if(model.layers.rbegin(), model.layers.rend(), [](const nn::LayerOptions& layer) {
        return std::holds_alternative<nn::AttentionOptions>(layer.mixer);
      });
  if (last == model.layers.rend()) return;
  model.prediction->form = {.projection = "fc",
                            .embedding_norm = "pre_fc_norm_embedding",
                            .hidden_norm = "pre_fc_norm_hidden",
                            .final_norm = "norm",
                            .layer_path = "layers.0",
                            .layer = *last};
}

}  // namespace pippin::models
