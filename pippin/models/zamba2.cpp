// Zamba 2 (Zyphra 2024): Mamba 2 layers, some of which also get the result of one of num_mem_blocks
// shared transformer blocks.
#include <cmath>

#include <fmt/format.h>

#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/config/state_spaces.h"

namespace pippin::models {
namespace {

nn::Mamba2Options zamba_mamba(const Config& config, const nn::DecoderOptions& model, bool bias) {
  nn::Mamba2Options mamba;
  mamba.features = model.hidden_size;
  const double expand = config.number("mamba_expand", 2.0);
  const int64_t inner = expanded(config, "mamba_expand", model.hidden_size, expand);
  mamba.heads = config.size("n_mamba_heads", 8, kMaxHeads);
  const int64_t own = std::max<int64_t>(inner / mamba.heads, 1);
  mamba.head_dim = config.size("mamba_headdim", own, kMaxSize);
  if (mamba.heads * mamba.head_dim != inner) {
    config.invalid("n_mamba_heads",
                   fmt::format("{} heads of {} are not mamba_expand * hidden_size = {}",
                               mamba.heads, mamba.head_dim, inner));
  }
  mamba.groups = config.size("mamba_ngroups", 1, kMaxHeads);
  config.require_multiple("n_mamba_heads", mamba.heads, "mamba_ngroups", mamba.groups);
  mamba.state_size = config.size("mamba_d_state", 64);
  mamba.kernel = convolution_length(config, "mamba_d_conv");
  mamba.bias = mamba.output_bias = bias;
  mamba.convolution_bias = config.flag("use_conv_bias", true);
  mamba.norm = model.norm;
  mamba.norm.epsilon = 1e-5;
  mamba.norm_groups = true;
  limit_steps(config, mamba);
  mamba.least_step = std::max(mamba.least_step, config.number("time_step_min", 0.001));
  return mamba;
}

}  // namespace

nn::DecoderOptions zamba2(const Config& given) {
  Config config = given;
  config.alias("head_dim", "attention_head_dim");
  config.alias("layers_block_type", "layer_types");
  config.require_flag("use_long_context", false, false);
  const int64_t hidden = config.size("hidden_size", 2560);
  const int64_t heads = config.size("num_attention_heads", 32, kMaxHeads);
  nn::DecoderOptions model =
      plain_decoder(config, {.vocab_size = 32000,
                             .hidden_size = 2560,
                             .num_layers = 54,
                             .num_heads = 32,
                             .head_dim = std::max<int64_t>(2 * hidden / heads, 1),
                             .context = 4096,
                             .epsilon = 1e-5,
                             .activation = "gelu",
                             .tied = true});
  if (config.flag("use_mem_rope", false)) {
    add_rope(config, model);
  } else {
    config.ignore({"rope_scaling", "rope_parameters"});
  }
  model.final_norm = "final_layernorm";
  if (!config.find("layers_block_type")) config.invalid("layers_block_type", "missing");
  const auto hybrid =
      layer_kinds(config, "layers_block_type", model.layers.size(), "mamba", "hybrid");
  const bool bias = config.flag("add_bias_linear", false);
  const int64_t blocks = config.size("num_mem_blocks", 1, kMaxLayers);
  const int64_t rank = config.size("adapter_rank", 128);
  const bool adapted = config.flag("use_shared_attention_adapter", false);

  nn::SharedBlockOptions shared;
  shared.features = model.hidden_size;
  shared.norm = model.norm;
  const nn::Mamba2Options mamba = zamba_mamba(config, model, bias);
  shared.mamba = mamba;
  shared.attention = model.layers.at(0).attention();
  shared.attention.features = 2 * model.hidden_size;
  shared.attention.output_features = model.hidden_size;
  shared.attention.scale = 1 / std::sqrt(static_cast<double>(shared.attention.head_dim) / 2);
  shared.attention.adapter_rank = adapted ? rank : 0;
  shared.mlp = model.layers.at(0).mlp();
  shared.mlp.fused = true;
  shared.mlp.gate = "gate_up_proj";
  shared.mlp.bias = bias;
  shared.mlp.adapter_rank = rank;

  std::vector<int64_t> homes;  // the layers that hold the blocks found so far
  int64_t uses = 0;
  for (size_t i = 0; i < model.layers.size(); ++i) {
    nn::LayerOptions& layer = model.layers[i];
    layer.mlp_norm.clear();
    layer.feed_forward = nn::NoFeedForwardOptions();
    if (!hybrid[i]) {
      layer.attention_path = "mamba";
      layer.mixer = mamba;
      continue;
    }
    layer.attention_norm.clear();
    layer.attention_path.clear();
    if (uses < blocks) homes.push_back(static_cast<int64_t>(i));
    shared.home = homes[static_cast<size_t>(uses % blocks)];
    const auto list = [&](std::string_view of) {
      return fmt::format("{}_adapter_list.{}", of, uses);
    };
    shared.mlp.adapter = list("gate_up_proj");
    if (adapted) {
      shared.attention.query_adapter = list("linear_q");
      shared.attention.key_adapter = list("linear_k");
      shared.attention.value_adapter = list("linear_v");
    }
    layer.mixer = shared;
    ++uses;
  }
  return model;
}

}  // namespace pippin::models
