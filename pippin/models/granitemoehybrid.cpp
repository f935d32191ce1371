// Granite 4 (IBM 2025): Mamba 2 and attention layers by layer_types, most of them without
// positions, Granite's factors, and one feed-forward, possibly next to a mixture of experts.
#include <vector>

#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/config/experts_config.h"
#include "pippin/models/config/state_spaces.h"
#include "pippin/models/lineages.h"

namespace pippin::models {

nn::DecoderOptions granitemoehybrid(const Config& config) {
  nn::DecoderOptions model = plain_decoder(config, {.vocab_size = 32000,
                                                    .hidden_size = 4096,
                                                    .intermediate_size = 11008,
                                                    .num_layers = 32,
                                                    .num_heads = 32,
                                                    .context = 2048});
  if (config.text("position_embedding_type", "") == "rope") {
    add_rope(config, model);
  } else {
    config.ignore({"rope_scaling", "rope_parameters"});
  }
  model.embedding_scale = config.number("embedding_multiplier", 1.0);
  model.logit_scale = 1 / config.number("logits_scaling", 1.0);
  const double residual = config.number("residual_multiplier", 1.0);
  const double scores = config.number("attention_multiplier", 1.0);
  const bool bias = config.flag("attention_bias", false);
  const size_t layers = model.layers.size();
  const auto attends = attention_kinds(config, layers).value_or(std::vector<bool>(layers));
  const int64_t width = config.size("shared_intermediate_size", 1024);
  const auto count = config.find("num_local_experts");
  const bool dense = count && count->as_int() == 0;
  nn::ExpertsOptions experts;
  if (dense) {
    config.ignore({"num_experts_per_tok"});
  } else {
    experts = granite_experts(config, model);
    add_granite_shared_expert(experts, model, width);
  }
  for (size_t i = 0; i < model.layers.size(); ++i) {
    nn::LayerOptions& layer = model.layers[i];
    layer.residual_scale = residual;
    if (dense) {
      layer.mlp_path = "shared_mlp";
      nn::MLPOptions& mlp = layer.mlp();
      mlp.hidden_features = width;
      mlp.fused = true;
      mlp.gate = "input_linear";
      mlp.down = "output_linear";
    } else {
      layer.mlp_path.clear();
      layer.feed_forward = experts;
    }
    if (attends[i]) {
      layer.attention().scale = scores;
      layer.attention().qkv_bias = layer.attention().output_bias = bias;
    } else {
      layer.attention_path = "mamba";
      layer.mixer = hybrid_mamba(config, model);
    }
  }
  return model;
}

}  // namespace pippin::models
