// Bamba (IBM 2024): Mamba 2 in most layers, attention with positions on half of each head in those
// of attn_layer_indices, each before a gated feed-forward.
#include <vector>

#include <fmt/format.h>

#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/config/state_spaces.h"

namespace pippin::models {
namespace {

std::vector<bool> listed_layers(const Config& config, size_t count) {
  std::vector<bool> attends(count);
  const auto indices = config.find("attn_layer_indices");
  if (!indices) return attends;
  for (const int64_t index : indices->as_ints()) {
    if (index < 0 || index >= static_cast<int64_t>(count)) {
      config.invalid("attn_layer_indices", fmt::format("{} is not one of {} layers", index, count));
    }
    attends[static_cast<size_t>(index)] = true;
  }
  return attends;
}

}  // namespace

nn::DecoderOptions bamba(const Config& config) {
  nn::DecoderOptions model = llama_like(config, {.vocab_size = 128000,
                                                 .hidden_size = 4096,
                                                 .intermediate_size = 14336,
                                                 .num_layers = 32,
                                                 .num_heads = 32,
                                                 .num_kv_heads = 8,
                                                 .context = 262144,
                                                 .epsilon = 1e-5,
                                                 .rotary_factor = 0.5});
  model.final_norm = "final_layernorm";
  const nn::Mamba2Options mamba = hybrid_mamba(config, model);
  const bool attention_bias = config.flag("attention_bias", false);
  const bool mlp_bias = config.flag("mlp_bias", false);
  const auto attends = attention_kinds(config, model.layers.size())
                           .value_or(listed_layers(config, model.layers.size()));
  for (size_t i = 0; i < model.layers.size(); ++i) {
    nn::LayerOptions& layer = model.layers[i];
    layer.mlp_norm = "pre_ff_layernorm";
    layer.mlp_path = "feed_forward";
    layer.mlp().bias = mlp_bias;
    if (attends[i]) {
      layer.attention().qkv_bias = layer.attention().output_bias = attention_bias;
    } else {
      layer.attention_path = "mamba";
      layer.mixer = mamba;
    }
  }
  return model;
}

}  // namespace pippin::models
