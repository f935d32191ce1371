// GPT-NeoX (Black et al. 2022): Pythia, Dolly, RedPajama. Rotation of a part of each head, q, k and
// v of each head adjacent in one matrix, attention and feed-forward in parallel with a norm each.
#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/lineages.h"

namespace pippin::models {

void use_neox_layer(nn::LayerOptions& layer, bool attention_bias) {
  layer.attention().layout = nn::QkvLayout::PerGroup;
  layer.attention().qkv = "query_key_value";
  layer.attention().output = "dense";
  layer.attention().qkv_bias = layer.attention().output_bias = attention_bias;
  layer.mlp().gated = false;
  layer.mlp().bias = true;
  layer.mlp().up = "dense_h_to_4h";
  layer.mlp().down = "dense_4h_to_h";
}

nn::DecoderOptions gpt_neox(const Config& given) {
  Config config = given;
  config.alias("rope_theta", "rotary_emb_base");
  config.alias("partial_rotary_factor", "rotary_pct");
  nn::DecoderOptions model = llama_like(config, {.vocab_size = 50432,
                                                 .hidden_size = 6144,
                                                 .intermediate_size = 24576,
                                                 .num_layers = 44,
                                                 .num_heads = 64,
                                                 .context = 2048,
                                                 .epsilon_key = "layer_norm_eps",
                                                 .epsilon = 1e-5,
                                                 .activation = "gelu",
                                                 .rotary_factor = 0.25});
  model.base = "gpt_neox";
  model.embedding = "embed_in";
  model.final_norm = "final_layer_norm";
  model.head = "embed_out";
  model.norm.kind = nn::NormOptions::Kind::Layer;
  model.norm.bias = true;
  const bool bias = config.flag("attention_bias", true);
  const bool parallel = config.flag("use_parallel_residual", true);
  for (nn::LayerOptions& layer : model.layers) {
    layer.norm = model.norm;
    if (parallel) layer.form = nn::LayerOptions::Form::Parallel;
    layer.attention_path = "attention";
    use_neox_layer(layer, bias);
  }
  return model;
}

}  // namespace pippin::models
