// ZAYA1 (Zyphra 2026): attention after convolutions; scales and biases for the residual and for
// results added to it; at most one expert for each token, chosen by a network that also reads the
// previous router's state.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/config/experts_config.h"
#include "pippin/models/config/nested_config.h"
#include "pippin/models/config/state_spaces.h"

namespace pippin::models {
namespace {

constexpr std::string_view kZayaFull = "hybrid", kZayaSliding = "hybrid_sliding";

nn::ConvolvedAttentionOptions zaya_attention(const Config& config,
                                             const nn::DecoderOptions& model) {
  const nn::AttentionOptions& plain = model.layers.at(0).attention();
  nn::ConvolvedAttentionOptions attention;
  attention.features = model.hidden_size;
  attention.num_heads = plain.num_heads;
  attention.num_kv_heads = plain.num_kv_heads;
  attention.head_dim = plain.head_dim;
  attention.first_taps = config.size("cca_time0", 2, kMaxHeads);
  attention.second_taps = config.size("cca_time1", 2, kMaxHeads);
  attention.bias = config.flag("attention_bias", false);
  if (attention.first_taps + attention.second_taps == 2) {
    config.unsupported("cca_time0", "two convolutions of one tap are not supported");
  }
  if (attention.num_kv_heads * attention.head_dim % 2 != 0) {
    config.invalid("num_key_value_heads", fmt::format("{} heads of {} cannot be halved",
                                                      attention.num_kv_heads, attention.head_dim));
  }
  return attention;
}

nn::ExpertsOptions zaya_experts(const Config& config, const nn::DecoderOptions& model) {
  nn::ExpertsOptions experts = experts_of(config, model, {.count = 16, .top_k = 1, .width = 2048});
  if (experts.router.top_k != 1) {
    config.unsupported("num_experts_per_tok", fmt::format("{} is not 1", experts.router.top_k));
  }
  experts.identity_experts = 1;
  experts.identities_are_zero = true;
  ++experts.router.num_experts;
  experts.router.path = "gate.router_mlp.out_proj";
  experts.router.correction = "gate.balancing_biases";
  experts.router.mlp = nn::RouterMlpOptions{config.size("router_hidden_size", 256), model.norm};
  return experts;
}

nn::FeatureShiftOptions shift_named(const std::string& module, std::string_view part) {
  return {fmt::format("{}.{}_bias", module, part), fmt::format("{}.{}_scale", module, part)};
}

}  // namespace

nn::DecoderOptions zaya(const Config& config) {
  nn::DecoderOptions model = plain_decoder(config, {.vocab_size = 262272,
                                                    .hidden_size = 2048,
                                                    .width_key = "moe_intermediate_size",
                                                    .num_layers = 40,
                                                    .num_heads = 8,
                                                    .num_kv_heads = 2,
                                                    .head_dim = 128,
                                                    .context = 131072,
                                                    .epsilon = 1e-5,
                                                    .tied = true});
  const size_t count = model.layers.size();
  const auto slides = layer_kinds(config, "layer_types", count, kZayaFull, kZayaSliding);
  const auto window = window_size(config, std::nullopt);
  nn::ConvolvedAttentionOptions attention = zaya_attention(config, model);
  const auto ropes = config.find("rope_parameters");
  for (const auto& [kind, theta] : {std::pair{kZayaFull, 5e6}, std::pair{kZayaSliding, 1e4}}) {
    const bool is_used =
        std::find(slides.begin(), slides.end(), kind == kZayaSliding) != slides.end();
    if (is_used && ropes && !ropes->has(kind)) {
      config.invalid("rope_parameters", fmt::format("{}: missing", kind));
    }
    model.ropes.push_back(nested_rope(config, kind, model.context, theta, attention.head_dim, 0.5));
  }
  nn::ExpertsOptions experts = zaya_experts(config, model);
  model.embedding_shift = {"input_hidden_states_bias", "input_hidden_states_scale"};
  model.head_bias = config.flag("lm_head_bias", false);
  for (size_t i = 0; i < count; ++i) {
    nn::LayerOptions& layer = model.layers[i];
    if (slides[i] && !window) config.invalid("sliding_window", "missing");
    attention.window = slides[i] ? window : std::nullopt;
    attention.rope = slides[i] ? 1 : 0;
    layer.mixer = attention;
    experts.router.mlp->adds_earlier = i > 0;
    layer.feed_forward = experts;
    layer.attention_residual = shift_named("post_attention_residual_scale", "residual");
    layer.attention_added = shift_named("post_attention_residual_scale", "hidden_states");
    layer.mlp_residual = shift_named("post_mlp_residual_scale", "residual");
    layer.mlp_added = shift_named("post_mlp_residual_scale", "hidden_states");
  }
  return model;
}

}  // namespace pippin::models
