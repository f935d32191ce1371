// Jamba (AI21 2024): Mamba layers with norms on step, keys and queries, attention without positions
// in every few layers, experts in every few others.
#include <fmt/format.h>

#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/config/experts_config.h"
#include "pippin/models/config/state_spaces.h"

namespace pippin::models {
namespace {

// Every `period`-th layer from `offset` on.
struct Period {
  int64_t period, offset;
  bool has(int64_t layer) const { return layer % period == offset; }
};

Period period_of(const Config& config, std::string_view key, int64_t period,
                 std::string_view offset_key, int64_t offset) {
  Period result = {config.size(key, period, kMaxLayers), offset};
  if (const auto given = config.find(offset_key)) result.offset = given->as_int(0);
  if (result.offset >= result.period) {
    config.invalid(offset_key,
                   fmt::format("{} is not below {} {}", result.offset, key, result.period));
  }
  return result;
}

nn::MambaOptions jamba_mamba(const Config& config, const nn::DecoderOptions& model) {
  nn::MambaOptions mamba;
  mamba.features = model.hidden_size;
  const double expand = config.number("mamba_expand", 2.0);
  mamba.inner = expanded(config, "mamba_expand", model.hidden_size, expand);
  mamba.state_size = config.size("mamba_d_state", 16);
  mamba.step_rank = size_or_auto(config, "mamba_dt_rank", (model.hidden_size + 15) / 16);
  mamba.kernel = convolution_length(config, "mamba_d_conv");
  mamba.bias = config.flag("mamba_proj_bias", false);
  mamba.convolution_bias = config.flag("mamba_conv_bias", true);
  mamba.norm = model.norm;
  return mamba;
}

}  // namespace

nn::DecoderOptions jamba(const Config& config) {
  nn::DecoderOptions model = plain_decoder(config, {.vocab_size = 65536,
                                                    .hidden_size = 4096,
                                                    .intermediate_size = 14336,
                                                    .num_layers = 32,
                                                    .num_heads = 32,
                                                    .num_kv_heads = 8,
                                                    .context = 262144});
  model.final_norm = "final_layernorm";
  const nn::MambaOptions mamba = jamba_mamba(config, model);
  const Period attention = period_of(config, "attn_layer_period", 8, "attn_layer_offset", 4);
  const auto attends = attention_kinds(config, model.layers.size());
  const Period mixture = period_of(config, "expert_layer_period", 2, "expert_layer_offset", 1);
  nn::ExpertsOptions experts = experts_of(config, model,
                                          {.count = 16,
                                           .top_k = 2,
                                           .width_key = "intermediate_size",
                                           .width = model.layers.at(0).mlp().hidden_features});
  experts.router.path = "router";
  const auto window = window_size(config, std::nullopt);
  for (size_t i = 0; i < model.layers.size(); ++i) {
    nn::LayerOptions& layer = model.layers[i];
    layer.mlp_norm = "pre_ff_layernorm";
    layer.mlp_path = "feed_forward";
    const auto index = static_cast<int64_t>(i);
    if (experts.router.num_experts > 1 && mixture.has(index)) layer.feed_forward = experts;
    if (attends ? (*attends)[i] : attention.has(index)) {
      layer.attention().window = window;
    } else {
      layer.attention_path = "mamba";
      layer.mixer = mamba;
    }
  }
  return model;
}

}  // namespace pippin::models
