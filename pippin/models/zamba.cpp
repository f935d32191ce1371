// Zamba (Zyphra 2024): Mamba layers with heads, some of which also get the result of one shared
// transformer block.
#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/config/state_spaces.h"

namespace pippin::models {
namespace {

nn::MambaOptions headed_mamba(const Config& config, const nn::DecoderOptions& model) {
  nn::MambaOptions mamba;
  mamba.features = model.hidden_size;
  const double expand = config.number("mamba_expand", 2.0);
  mamba.inner = expanded(config, "mamba_expand", model.hidden_size, expand);
  mamba.heads = config.size("n_mamba_heads", 2, kMaxHeads);
  if (mamba.inner % mamba.heads != 0) {
    config.invalid("n_mamba_heads",
                   fmt::format("{} heads of {} features", mamba.heads, mamba.inner));
  }
  mamba.state_size = config.size("mamba_d_state", 16);
  mamba.step_rank = size_or_auto(config, "mamba_dt_rank", (model.hidden_size + 15) / 16);
  mamba.kernel = convolution_length(config, "mamba_d_conv");
  mamba.bias = config.flag("mamba_proj_bias", false);
  mamba.convolution_bias = config.flag("mamba_conv_bias", true);
  if (config.activation("hidden_mamba_act", "silu") != nn::Activation::Silu) {
    config.unsupported("hidden_mamba_act", "only silu is supported for state spaces");
  }
  return mamba;
}

// By layers_block_type, or the third layer and every `attn_layer_period`-th of those after it.
std::vector<bool> zamba_hybrids(const Config& config, size_t count) {
  const int64_t period = config.size("attn_layer_period", 6, kMaxLayers);
  const auto offset = config.find("attn_layer_offset");
  if (config.find("layers_block_type")) {
    return layer_kinds(config, "layers_block_type", count, "mamba", "hybrid");
  }
  std::vector<bool> hybrid(count);
  for (size_t i = 2; i < count; ++i) {
    hybrid[i] = i == 2 || static_cast<int64_t>(i - 3) % period == (offset ? offset->as_int() : 4);
  }
  return hybrid;
}

}  // namespace

nn::DecoderOptions zamba(const Config& given) {
  Config config = given;
  config.alias("head_dim", "attention_head_dim");
  config.alias("layers_block_type", "layer_types");
  const int64_t hidden = config.size("hidden_size", 3712);
  const int64_t heads = config.size("num_attention_heads", 16, kMaxHeads);
  nn::DecoderOptions model =
      plain_decoder(config, {.vocab_size = 32000,
                             .hidden_size = 3712,
                             .intermediate_size = 14848,
                             .num_layers = 76,
                             .num_heads = 16,
                             .head_dim = std::max<int64_t>(2 * hidden / heads, 1),
                             .context = 4096,
                             .epsilon = 1e-5,
                             .activation = "gelu",
                             .tied = true});
  model.final_norm = "final_layernorm";
  if (config.size("attention_hidden_size", 2 * hidden) != 2 * hidden) {
    config.unsupported("attention_hidden_size",
                       fmt::format("only 2 * hidden_size {} is supported", hidden));
  }
  nn::SharedBlockOptions shared;
  shared.features = hidden;
  shared.block = "shared_transf";
  shared.norm = model.norm;
  shared.mamba = headed_mamba(config, model);
  shared.attention = model.layers.at(0).attention();
  shared.attention.features = 2 * hidden;
  shared.attention.output_features = hidden;
  shared.attention.scale = 1 / std::sqrt(static_cast<double>(shared.attention.head_dim) / 2);
  shared.mlp = model.layers.at(0).mlp();

  const auto hybrid = zamba_hybrids(config, model.layers.size());
  const auto first = std::find(hybrid.begin(), hybrid.end(), true);
  shared.home = first - hybrid.begin();
  for (size_t i = 0; i < model.layers.size(); ++i) {
    nn::LayerOptions& layer = model.layers[i];
    layer.mlp_norm.clear();
    layer.feed_forward = nn::NoFeedForwardOptions();
    if (hybrid[i]) {
      layer.attention_norm.clear();
      layer.attention_path.clear();
      layer.mixer = shared;
    } else {
      layer.attention_path = "mamba";
      layer.mixer = std::get<nn::MambaOptions>(shared.mamba);
    }
  }
  return model;
}

}  // namespace pippin::models
