// Command R (Cohere): one LayerNorm without bias before attention and feed-forward, which run in
// parallel; neighbouring pairs are rotated; logits are scaled; in Command R+ a norm for every head
// of q and k.
#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"

namespace pippin::models {

nn::DecoderOptions cohere(const Config& config) {
  nn::DecoderOptions model = llama_like(config, {.vocab_size = 256000,
                                                 .hidden_size = 8192,
                                                 .intermediate_size = 22528,
                                                 .num_layers = 40,
                                                 .num_heads = 64,
                                                 .context = 8192,
                                                 .epsilon_key = "layer_norm_eps",
                                                 .epsilon = 1e-5,
                                                 .tied = true});
  model.norm.kind = nn::NormOptions::Kind::Layer;
  model.logit_scale = config.number("logit_scale", 0.0625);
  const bool bias = config.flag("attention_bias", false);
  const bool qk_norm = config.flag("use_qk_norm", false);
  for (nn::LayerOptions& layer : model.layers) {
    layer.norm = model.norm;
    layer.form = nn::LayerOptions::Form::Parallel;
    layer.mlp_norm.clear();
    layer.attention().qkv_bias = layer.attention().output_bias = bias;
    layer.attention().interleaved = true;
    if (qk_norm) {
      layer.attention().qk_norm = {.place = nn::QkNorm::Place::BeforeRope,
                                   .weights = nn::QkNorm::Weights::PerHead,
                                   .norm = model.norm};
    }
  }
  return model;
}

}  // namespace pippin::models
