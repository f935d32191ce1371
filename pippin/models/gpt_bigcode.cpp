// GPT-BigCode (StarCoder, SantaCoder): GPT-2 with one key-value head, and matrices that are stored
// as (out, in).
#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/lineages.h"

namespace pippin::models {

nn::DecoderOptions gpt_bigcode(const Config& given) {
  Config config = given;
  nn::DecoderOptions model = gpt2_like(config, {.vocab_size = 50257,
                                                .hidden_size = 768,
                                                .num_layers = 12,
                                                .num_heads = 12,
                                                .context = 1024,
                                                .activation = "gelu_pytorch_tanh",
                                                .tied = true});
  model.positions = nn::LearnedPositions{.path = "wpe", .rows = model.context};
  config.require_absent("add_cross_attention");
  const bool multi_query = config.flag("multi_query", true);
  const bool scaled = config.flag("scale_attn_weights", true);
  for (nn::LayerOptions& layer : model.layers) {
    nn::AttentionOptions& attention = layer.attention();
    attention.num_kv_heads = multi_query ? 1 : attention.num_heads;
    attention.layout = multi_query ? nn::QkvLayout::Blocks : nn::QkvLayout::PerGroup;
    if (!scaled) attention.scale = 1.0;
  }
  return model;
}

}  // namespace pippin::models
