// Persimmon (Adept 2023), the language model of Fuyu: GPT-NeoX's projections in Llama's form,
// LayerNorms on each head of q and k, squared ReLU.
#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/lineages.h"

namespace pippin::models {

nn::DecoderOptions persimmon(const Config& config) {
  nn::DecoderOptions model = llama_like(config, {.vocab_size = 262144,
                                                 .hidden_size = 4096,
                                                 .intermediate_size = 16384,
                                                 .num_layers = 36,
                                                 .num_heads = 64,
                                                 .context = 16384,
                                                 .epsilon_key = "layer_norm_eps",
                                                 .epsilon = 1e-5,
                                                 .activation = "relu2",
                                                 .rope_theta = 25000.0,
                                                 .rotary_factor = 0.5});
  model.final_norm = "final_layernorm";
  model.norm.kind = nn::NormOptions::Kind::Layer;
  model.norm.bias = true;
  const bool normed = config.flag("qk_layernorm", true);
  for (nn::LayerOptions& layer : model.layers) {
    layer.norm = model.norm;
    use_neox_layer(layer, true);
    if (!normed) continue;
    layer.attention().qk_norm = {.place = nn::QkNorm::Place::BeforeRope,
                                 .norm = model.norm,
                                 .query = "q_layernorm",
                                 .key = "k_layernorm"};
  }
  return model;
}

}  // namespace pippin::models
