// Cohere Compass' text model (Cohere 2026): Cohere 2's parallel layers, the halves of a head
// rotated, and a rope for each kind of layer, or none.
#include <vector>

#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"

namespace pippin::models {

nn::DecoderOptions cohere_compass_text(const Config& config) {
  nn::DecoderOptions model = plain_decoder(config, {.vocab_size = 256000,
                                                    .hidden_size = 8192,
                                                    .intermediate_size = 22528,
                                                    .num_layers = 40,
                                                    .num_heads = 64,
                                                    .context = 8192,
                                                    .epsilon_key = "layer_norm_eps",
                                                    .epsilon = 1e-5,
                                                    .tied = true});
  model.norm.kind = nn::NormOptions::Kind::Layer;
  model.logit_scale = config.find_number("logit_scale").value_or(1.0);
  const size_t count = model.layers.size();
  const auto sliding = sliding_layers(config, count).value_or(std::vector<bool>(count));
  slide(model, sliding, window_size(config, 4096));
  add_ropes_by_kind(config, model, sliding, {}, {});
  const bool bias = config.flag("attention_bias", false);
  for (nn::LayerOptions& layer : model.layers) {
    layer.norm = model.norm;
    layer.form = nn::LayerOptions::Form::Parallel;
    layer.mlp_norm.clear();
    layer.attention().qkv_bias = layer.attention().output_bias = bias;
  }
  return model;
}

}  // namespace pippin::models
