// Falcon-H1 (TII 2025): parallel attention and Mamba 2 in every layer, and factors nearly
// everywhere.
#include <algorithm>
#include <cmath>

#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/config/state_spaces.h"

namespace pippin::models {

nn::DecoderOptions falcon_h1(const Config& config) {
  nn::DecoderOptions model = llama_like(config, {.vocab_size = 128000,
                                                 .hidden_size = 4096,
                                                 .intermediate_size = 14336,
                                                 .num_layers = 32,
                                                 .num_heads = 32,
                                                 .num_kv_heads = 8,
                                                 .context = 8192,
                                                 .epsilon = 1e-5,
                                                 .rope_theta = 1e5});
  model.final_norm = "final_layernorm";
  model.embedding_scale = config.number("embedding_multiplier", 1.0);
  model.logit_scale = config.number("lm_head_multiplier", 1.0);

  nn::AttentionWithMambaOptions mixer;
  mixer.mamba = hybrid_mamba(config, model, config.find_size("mamba_d_ssm"));
  mixer.mamba.output_bias = config.flag("projectors_bias", false);
  const bool normed = config.flag("mamba_rms_norm", false);
  const bool norm_first = config.flag("mamba_norm_before_gate", true);
  using Gating = nn::Mamba2Options::Gating;
  mixer.mamba.gating = !normed      ? Gating::GateAlone
                       : norm_first ? Gating::NormThenGate
                                    : Gating::GateThenNorm;
  mixer.mamba.norm_groups = true;
  mixer.mamba.input_scale = config.number("ssm_in_multiplier", 1.0);
  const std::vector<double> zones = config.numbers("ssm_multipliers", 5, 1.0);
  std::copy(zones.begin(), zones.end(), mixer.mamba.zone_scales.begin());
  mixer.mamba_output_scale = config.number("ssm_out_multiplier", 1.0);
  mixer.attention_input_scale = config.number("attention_in_multiplier", 1.0);
  mixer.attention_output_scale = config.number("attention_out_multiplier", 1.0);

  mixer.attention = model.layers.at(0).attention();
  const bool bias = config.flag("attention_bias", false);
  mixer.attention.qkv_bias = mixer.attention.output_bias = bias;
  // A factor of keys is a factor of scores.
  const auto head_dim = static_cast<double>(mixer.attention.head_dim);
  mixer.attention.scale = config.number("key_multiplier", 1.0) / std::sqrt(head_dim);

  const bool mlp_bias = config.flag("mlp_bias", false);
  const std::vector<double> factors = config.numbers("mlp_multipliers", 2, 1.0);
  for (nn::LayerOptions& layer : model.layers) {
    layer.attention_path.clear();
    layer.mixer = mixer;
    layer.mlp_norm = "pre_ff_layernorm";
    layer.mlp_path = "feed_forward";
    layer.mlp().bias = mlp_bias;
    layer.mlp().gate_scale = factors[0];
    layer.mlp().down_scale = factors[1];
  }
  return model;
}

}  // namespace pippin::models
