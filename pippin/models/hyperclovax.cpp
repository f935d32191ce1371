// HyperCLOVA X (Naver 2025): Granite's factors, and norms after attention and feed-forward as well.
#include "pippin/models/architectures.h"
#include "pippin/models/lineages.h"

namespace pippin::models {

nn::DecoderOptions hyperclovax(const Config& config) {
  nn::DecoderOptions model = granite_like(config, {.vocab_size = 128256,
                                                   .hidden_size = 6144,
                                                   .intermediate_size = 14336,
                                                   .num_layers = 38,
                                                   .num_heads = 48,
                                                   .num_kv_heads = 8,
                                                   .context = 131072});
  model.logit_scale = config.number("logits_scaling", 1.0);
  if (!config.flag("use_post_norm", false)) return model;
  for (nn::LayerOptions& layer : model.layers) {
    layer.attention_post_norm = "post_norm1";
    layer.mlp_post_norm = "post_norm2";
  }
  return model;
}

}  // namespace pippin::models
