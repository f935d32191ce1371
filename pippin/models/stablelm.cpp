// StableLM 2 and StableLM-3B (Stability AI): Llama with LayerNorms, rotation of a part of each
// head, in StableLM 2 12B attention and feed-forward in parallel and a norm for every head of q and
// k.
#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"

namespace pippin::models {

nn::DecoderOptions stablelm(const Config& config) {
  nn::DecoderOptions model = llama_like(config, {.vocab_size = 50304,
                                                 .hidden_size = 2560,
                                                 .intermediate_size = 6912,
                                                 .num_layers = 32,
                                                 .num_heads = 32,
                                                 .num_kv_heads = 32,
                                                 .context = 4096,
                                                 .epsilon_key = "layer_norm_eps",
                                                 .epsilon = 1e-5,
                                                 .rotary_factor = 0.25});
  model.norm.kind = nn::NormOptions::Kind::Layer;
  model.norm.bias = true;
  const bool bias = config.flag("use_qkv_bias", false);
  const bool qk_norm = config.flag("qk_layernorm", false);
  const bool parallel = config.flag("use_parallel_residual", false);
  for (nn::LayerOptions& layer : model.layers) {
    layer.norm = model.norm;
    layer.attention().qkv_bias = bias;
    if (qk_norm) {
      nn::NormOptions norm = model.norm;
      norm.bias = false;
      layer.attention().qk_norm = {.place = nn::QkNorm::Place::BeforeRope,
                                   .weights = nn::QkNorm::Weights::HeadModules,
                                   .norm = norm,
                                   .query = "q_layernorm",
                                   .key = "k_layernorm"};
    }
    if (parallel) {
      layer.form = nn::LayerOptions::Form::Parallel;
      layer.mlp_norm.clear();
    }
  }
  return model;
}

}  // namespace pippin::models
