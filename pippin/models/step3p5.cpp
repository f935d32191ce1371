// Step 3.5 and 3.7 (StepFun 2026): norms of 1 + w, a gate for each head, other numbers of heads in
// sliding layers, experts next to a shared one.

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "pippin/io/json.h"
#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/config/experts_config.h"

namespace pippin::models {

namespace {

// The rope of a kind of layers: the last of its layers has the base and the factor.
std::string rope_of(const Config& config, const std::vector<std::string>& kinds,
                    std::string_view kind) {
  std::optional<double> theta = 10000.0, factor;
  const auto last_of = [&](std::string_view key, std::optional<double>& value) {
    const auto given = config.find(key);
    if (!given) return;
    if (!given->is_array()) {
      value = given->as_float();
      return;
    }
    const std::vector<double> numbers = given->as_floats();
    if (numbers.size() < kinds.size()) {
      config.invalid(key, fmt::format("{} for {} layers", numbers.size(), kinds.size()));
    }
    for (size_t i = 0; i < kinds.size(); ++i) {
      if (kinds[i] == kind) value = numbers[i];
    }
  };
  last_of("rope_theta", theta);
  last_of("partial_rotary_factors", factor);
  JsonWriter writer;
  writer.begin_object();
  const auto scaling = config.find("rope_scaling");
  if (scaling && kind == "full_attention") {
    for (const auto& [key, value] : scaling->members()) writer.key(key).raw(value.dump());
  }
  if (!scaling || kind != "full_attention" || !scaling->has("rope_theta")) {
    writer.member("rope_theta", *theta);
  }
  if (factor) writer.member("partial_rotary_factor", *factor);
  return writer.end_object().text();
}

// The layers with experts, of a list of their numbers, or "3,4,5".
std::vector<std::string> feed_forward_kinds(const Config& config, size_t count) {
  std::vector<std::string> kinds(count, "sparse");
  std::fill_n(kinds.begin(), std::min<size_t>(3, count), "dense");
  constexpr std::string_view kKey = "moe_layers_enum";
  const auto list = config.find(kKey);
  if (!list) return kinds;
  const std::string text =
      list->is_string() ? fmt::format("[{}]", list->as_string()) : list->dump();
  kinds.assign(count, "dense");
  for (const int64_t layer : Json::parse(text, std::string(kKey)).as_ints()) {
    if (layer < 0) config.invalid(kKey, fmt::format("{} is below 0", layer));
    if (static_cast<size_t>(layer) < count) kinds[static_cast<size_t>(layer)] = "sparse";
  }
  return kinds;
}

// The kinds of layers; those of the prediction layers may come after them.
std::vector<std::string> kinds_of(const Config& config, std::string_view key,
                                  const std::vector<std::string>& usual) {
  const auto given = config.find(key);
  if (!given) return usual;
  const auto further = config.find("num_nextn_predict_layers");
  std::vector<std::string> kinds = given->as_strings();
  const auto count = std::ssize(usual);
  if (std::ssize(kinds) != count + (further ? further->as_int(0, kMaxLayers) : 0) &&
      std::ssize(kinds) != count) {
    config.invalid(key, fmt::format("{} for {} layers", kinds.size(), count));
  }
  kinds.resize(usual.size());
  return kinds;
}

// The keys of published configurations as those that transformers writes.
Config with_usual_keys(Config config) {
  config.alias("num_key_value_heads", "num_attention_groups");
  config.alias("num_nextn_predict_layers", "num_mtp_layers");
  const auto count = static_cast<size_t>(config.size("num_hidden_layers", 45, kMaxLayers));
  const auto kinds =
      kinds_of(config, "layer_types", std::vector<std::string>(count, "full_attention"));
  const auto dense_or_sparse =
      kinds_of(config, "mlp_layer_types", feed_forward_kinds(config, count));
  config = config.with_value("layer_types", JsonWriter().value(kinds).text())
               .with_value("mlp_layer_types", JsonWriter().value(dense_or_sparse).text());
  if (config.find("rope_parameters")) return config;
  const std::string ropes = fmt::format(R"({{"full_attention": {}, "sliding_attention": {}}})",
                                        rope_of(config, kinds, "full_attention"),
                                        rope_of(config, kinds, "sliding_attention"));
  return config.with_value("rope_parameters", ropes)
      .with_value("rope_scaling", "null")
      .with_value("rope_theta", "null");
}

int64_t sliding_heads(const Config& config, int64_t usual) {
  if (const auto heads = config.find_size("num_sliding_attention_heads", kMaxHeads)) return *heads;
  const auto other = config.find("attention_other_setting");
  return other ? Config(*other).size("num_attention_heads", usual, kMaxHeads) : usual;
}

// The bounds of each layer; null and 0 stand for none.
std::vector<std::optional<double>> limits_of(const Config& config, std::string_view key,
                                             size_t count) {
  std::vector<std::optional<double>> limits(count);
  const auto list = config.find(key);
  if (!list || list->elements().empty()) return limits;
  std::vector<Json> given = list->elements();
  if (given.size() < count)
    config.invalid(key, fmt::format("{} for {} layers", given.size(), count));
  for (size_t i = 0; i < count; ++i) {
    const double limit = given[i].is_null() ? 0.0 : given[i].as_float();
    if (limit < 0) config.invalid(key, fmt::format("{} is below 0", limit));
    if (limit > 0) limits[i] = limit;
  }
  return limits;
}

void limit_layers(const Config& config, nn::DecoderOptions& model) {
  const size_t count = model.layers.size();
  const auto limits = limits_of(config, "swiglu_limits", count);
  const auto shared = limits_of(config, "swiglu_limits_shared", count);
  for (size_t i = 0; i < count; ++i) {
    auto* experts = std::get_if<nn::ExpertsOptions>(&model.layers[i].feed_forward);
    nn::MLPOptions& dense = experts ? *experts->shared : model.layers[i].mlp();
    dense.limit = shared[i];
    dense.activates_first = true;
    if (!experts) continue;
    experts->limit = limits[i];
    experts->activates_first = true;
  }
}

nn::ExpertsOptions experts_in(const Config& given, const nn::DecoderOptions& model) {
  Config config = given;
  config.alias("n_routed_experts", "moe_num_experts");
  config.alias("num_experts_per_tok", "moe_top_k");
  config.alias("share_expert_dim", "share_expert_dims");
  nn::ExpertsOptions experts = experts_of(
      config, model, {.count_key = "n_routed_experts", .count = 288, .top_k = 8, .width = 1280});
  experts.router.path = "moe.gate";
  experts.router.scores = nn::RouterOptions::Scores::Sigmoid;
  experts.router.correction = "moe.router_bias";
  experts.router.normalized = config.flag("norm_expert_weight", true);
  experts.router.added_to_sum = 1e-20;
  experts.router.scale = config.number("moe_router_scaling_factor", 1.0);
  experts.shared_path = "share_expert";
  add_shared_expert(experts, model, config.size("share_expert_dim", 1280));
  return experts;
}

}  // namespace

nn::DecoderOptions step3p5(const Config& given) {
  const Config config = with_usual_keys(given);
  nn::DecoderOptions model = plain_decoder(config, {.vocab_size = 128815,
                                                    .hidden_size = 4096,
                                                    .intermediate_size = 11264,
                                                    .num_layers = 45,
                                                    .num_heads = 64,
                                                    .num_kv_heads = 8,
                                                    .head_dim = 128,
                                                    .context = 128000,
                                                    .epsilon = 1e-5});
  model.norm.one_plus = true;
  const size_t count = model.layers.size();
  const auto sliding = sliding_layers(config, count).value_or(std::vector<bool>(count));
  slide(model, sliding, window_size(config, std::nullopt));
  add_ropes_by_kind(config, model, sliding, {}, {});
  const bool bias = config.flag("attention_bias", false);
  const bool mlp_bias = config.flag("mlp_bias", false);
  const int64_t heads = sliding_heads(config, model.layers.at(0).attention().num_heads);
  for (size_t i = 0; i < count; ++i) {
    nn::LayerOptions& layer = model.layers[i];
    layer.norm = model.norm;
    nn::AttentionOptions& attention = layer.attention();
    if (sliding[i]) attention.num_heads = heads;
    config.require_multiple("num_sliding_attention_heads", attention.num_heads,
                            "num_key_value_heads", attention.num_kv_heads);
    attention.qkv_bias = attention.output_bias = bias;
    attention.qk_norm = {.place = nn::QkNorm::Place::BeforeRope, .norm = model.norm};
    attention.gate = nn::AttentionOptions::Gate{.path = "g_proj", .by_head = true};
    if (const auto scale = config.find_number("query_pre_attn_scalar")) {
      attention.scale = 1 / std::sqrt(*scale);
    }
    layer.mlp().bias = mlp_bias;
  }
  use_experts_by_type(config, model, experts_in(config, model), 3);
  for (nn::LayerOptions& layer : model.layers) {
    if (std::holds_alternative<nn::ExpertsOptions>(layer.feed_forward)) layer.mlp_path.clear();
  }
  limit_layers(config, model);
  skip_prediction_layers(config, model, 0);
  return model;
}

}  // namespace pippin::models
