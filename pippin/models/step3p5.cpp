// Step 3.5 and 3.7 (StepFun 2026): norms of 1 + w, a gate for each head, other numbers of heads in
// sliding layers, experts next to a shared one.

#include <cmath>
#include <vector>

#include <fmt/core.h>

#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/config/experts_config.h"

namespace pippin::models {

namespace {

void refuse_limits(const Config& config, std::string_view key) {
  const auto limits = config.find(key);
  if (!limits) return;
  for (const Json& limit : limits->elements()) {
    if (!limit.is_null() && limit.as_float() > 0) {
      config.unsupported(key, fmt::format("{} is not supported", limit.dump()));
    }
  }
}

nn::ExpertsOptions experts_in(const Config& given, const nn::DecoderOptions& model) {
  Config config = given;
  config.alias("n_routed_experts", "moe_num_experts");
  config.alias("num_experts_per_tok", "moe_top_k");
  nn::ExpertsOptions experts = experts_of(
      config, model, {.count_key = "n_routed_experts", .count = 288, .top_k = 8, .width = 1280});
  experts.router.path = "moe.gate";
  experts.router.scores = nn::RouterOptions::Scores::Sigmoid;
  experts.router.correction = "moe.router_bias";
  experts.router.normalized = config.flag("norm_expert_weight", true);
  experts.router.added_to_sum = 1e-20;
  experts.router.scale = config.number("moe_router_scaling_factor", 3.0);
  experts.shared_path = "share_expert";
  add_shared_expert(experts, model, config.size("share_expert_dim", 1280));
  return experts;
}

}  // namespace

nn::DecoderOptions step3p5(const Config& given) {
  Config config = given;
  config.alias("num_key_value_heads", "num_attention_groups");
  refuse_limits(config, "swiglu_limits");
  refuse_limits(config, "swiglu_limits_shared");
  nn::DecoderOptions model = plain_decoder(config, {.vocab_size = 128896,
                                                    .hidden_size = 4096,
                                                    .intermediate_size = 11264,
                                                    .num_layers = 45,
                                                    .num_heads = 64,
                                                    .num_kv_heads = 8,
                                                    .head_dim = 128,
                                                    .context = 262144,
                                                    .epsilon = 1e-5});
  model.norm.one_plus = true;
  const size_t count = model.layers.size();
  std::vector<bool> slides(count);
  for (size_t i = 0; i < count; ++i) slides[i] = i % 4 != 0;
  const auto sliding = sliding_layers(config, count).value_or(slides);
  slide(model, sliding, window_size(config, 512));
  add_ropes_by_kind(config, model, sliding, {.theta = 5e6}, {});
  const bool bias = config.flag("attention_bias", false);
  const bool mlp_bias = config.flag("mlp_bias", false);
  const auto heads = config.find_size("num_sliding_attention_heads", kMaxHeads);
  for (size_t i = 0; i < count; ++i) {
    nn::LayerOptions& layer = model.layers[i];
    layer.norm = model.norm;
    nn::AttentionOptions& attention = layer.attention();
    if (sliding[i] && heads) attention.num_heads = *heads;
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
  skip_prediction_layers(config, model, 0);
  return model;
}

}  // namespace pippin::models
