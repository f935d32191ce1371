// Phi-1, Phi-1.5 and Phi-2 (Microsoft): one LayerNorm before attention and feed-forward, which run
// in parallel; biases everywhere; part of each head is rotated.
#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"

namespace pippin::models {

nn::DecoderOptions phi(const Config& config) {
  nn::DecoderOptions model = llama_like(config, {.vocab_size = 51200,
                                                 .hidden_size = 2048,
                                                 .intermediate_size = 8192,
                                                 .num_layers = 24,
                                                 .num_heads = 32,
                                                 .context = 2048,
                                                 .epsilon_key = "layer_norm_eps",
                                                 .epsilon = 1e-5,
                                                 .activation = "gelu_new",
                                                 .rotary_factor = 0.5});
  model.final_norm = "final_layernorm";
  model.norm.kind = nn::NormOptions::Kind::Layer;
  model.norm.bias = true;
  model.head_bias = true;
  const bool qk_norm = config.flag("qk_layernorm", false);
  for (nn::LayerOptions& layer : model.layers) {
    layer.form = nn::LayerOptions::Form::Parallel;
    layer.norm = model.norm;
    layer.mlp_norm.clear();
    layer.attention().qkv_bias = layer.attention().output_bias = true;
    layer.attention().output = "dense";
    if (qk_norm) {
      layer.attention().qk_norm = {.place = nn::QkNorm::Place::BeforeRope,
                                   .norm = model.norm,
                                   .query = "q_layernorm",
                                   .key = "k_layernorm"};
    }
    layer.mlp().gated = false;
    layer.mlp().bias = true;
    layer.mlp().up = "fc1";
    layer.mlp().down = "fc2";
  }
  return model;
}

}  // namespace pippin::models
