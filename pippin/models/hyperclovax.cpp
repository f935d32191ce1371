// HyperCLOVA X (Naver 2025): Granite's factors, and norms after attention and feed-forward as well.
#include "pippin/models/architectures.h"
#include "pippin/models/lineages.h"

namespace pippin::models {

nn::DecoderOptions hyperclovax(const Config& config) {
  nn::DecoderOptions model = granite_like(config, {.vocab_size = 32000,
                                                   .hidden_size = 4096,
                                                   .intermediate_size = 11008,
                                                   .num_layers = 32,
                                                   .num_heads = 32,
                                                   .context = 2048});
  if (!config.find("attention_multiplier")) {
    for (nn::LayerOptions& layer : model.layers) layer.attention().scale.reset();
  }
  model.logit_scale = config.number("logits_scaling", 1.0);
  if (!config.flag("use_post_norm", true)) return model;
  for (nn::LayerOptions& layer : model.layers) {
    layer.attention_post_norm = "post_norm1";
    layer.mlp_post_norm = "post_norm2";
  }
  return model;
}

}  // namespace pippin::models
