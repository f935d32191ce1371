// OLMo Hybrid (Ai2 2026): gated delta rules in Llama's form of layers, and OLMo 2's layers of
// attention in between, with or without positions.
#include <algorithm>
#include <cmath>

#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/config/state_spaces.h"
#include "pippin/models/lineages.h"

namespace pippin::models {
namespace {

// Every fourth layer has attention, at least the last.
std::vector<bool> attention_layers(const Config& config, size_t count) {
  if (config.find("layer_types")) {
    return layer_kinds(config, "layer_types", count, "linear_attention", "full_attention");
  }
  std::vector<bool> attends(count);
  for (size_t i = 0; i < count; ++i) attends[i] = i % 4 == 3;
  if (count < 4) attends.back() = true;
  return attends;
}

nn::GatedDeltaOptions delta_of(const Config& config, const nn::DecoderOptions& model) {
  const int64_t heads = model.layers.at(0).attention().num_heads;
  nn::GatedDeltaOptions delta;
  delta.layout = nn::GatedDeltaOptions::Layout::Separate;
  delta.features = model.hidden_size;
  delta.key_heads = config.size("linear_num_key_heads", heads, kMaxHeads);
  delta.value_heads = config.size("linear_num_value_heads", heads, kMaxHeads);
  const int64_t key_dim = std::max<int64_t>(3 * model.hidden_size / (4 * delta.key_heads), 1);
  delta.key_dim = config.size("linear_key_head_dim", key_dim, kMaxHeadDim);
  delta.value_dim = config.size("linear_value_head_dim", 2 * delta.key_dim, kMaxHeadDim);
  config.require_multiple("linear_num_value_heads", delta.value_heads, "linear_num_key_heads",
                          delta.key_heads);
  delta.kernel = convolution_length(config, "linear_conv_kernel_dim");
  delta.rate_scale = config.flag("linear_allow_neg_eigval", true) ? 2.0 : 1.0;
  delta.norm.epsilon = 1e-5;  // whatever rms_norm_eps is
  delta.norm_name = "o_norm";
  delta.output = "o_proj";
  return delta;
}

}  // namespace

nn::DecoderOptions olmo_hybrid(const Config& config) {
  Defaults defaults = olmo2_defaults();
  defaults.vocab_size = 100352;
  defaults.hidden_size = 3840;
  defaults.intermediate_size = 11008;
  defaults.num_heads = 30;
  defaults.context = 65536;
  defaults.epsilon = 1e-6;
  nn::DecoderOptions model = olmo2_like(config, defaults);
  // Null, unlike an absent key, means attention without positions.
  const auto parameters = config.find("rope_parameters");
  const bool turned =
      parameters ? parameters->has("rope_theta") : !config.contains("rope_parameters");
  const auto attends = attention_layers(config, model.layers.size());
  const nn::GatedDeltaOptions delta = delta_of(config, model);
  for (size_t i = 0; i < model.layers.size(); ++i) {
    nn::LayerOptions& layer = model.layers[i];
    if (attends[i]) {
      if (!turned) layer.attention().rope.reset();
      continue;
    }
    layer.attention_norm = "input_layernorm";
    layer.mlp_norm = "post_attention_layernorm";
    layer.attention_post_norm.clear();
    layer.mlp_post_norm.clear();
    layer.attention_path = "linear_attn";
    layer.mixer = delta;
  }
  return model;
}

}  // namespace pippin::models
