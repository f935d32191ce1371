// Falcon (TII), in its four layouts: 7B (one key-value head, one LayerNorm, parallel), 40B
// (new_decoder_architecture: groups of heads, two LayerNorms), 11B (the same with one), RW (as many
// key heads as query heads, serial, ALiBi).
#include <cmath>

#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"

namespace pippin::models {

nn::DecoderOptions falcon(const Config& given) {
  Config config = given;
  config.alias("hidden_size", "n_embed");
  config.alias("num_hidden_layers", "n_layer");
  config.alias("num_attention_heads", "n_head");
  config.alias("num_key_value_heads", "num_kv_heads");
  config.alias("intermediate_size", "ffn_hidden_size");
  nn::DecoderOptions model = plain_decoder(config, {.vocab_size = 65024,
                                                    .hidden_size = 4544,
                                                    .num_layers = 32,
                                                    .num_heads = 71,
                                                    .context = 2048,
                                                    .epsilon_key = "layer_norm_epsilon",
                                                    .epsilon = 1e-5,
                                                    .activation_key = "activation",
                                                    .activation = "gelu",
                                                    .tied = true});
  model.base = "transformer";
  model.embedding = "word_embeddings";
  model.layers_path = "h";
  model.final_norm = "ln_f";
  model.norm.kind = nn::NormOptions::Kind::Layer;
  model.norm.bias = true;
  const bool alibi = config.flag("alibi", false);
  const bool grouped = config.flag("new_decoder_architecture", false);
  const bool multi_query = config.flag("multi_query", true);
  const bool parallel = config.flag("parallel_attn", true) || grouped;
  const bool bias = config.flag("bias", false);
  const bool two_norms = grouped && config.size("num_ln_in_parallel_attn", 2, 2) == 2;
  const int64_t heads = model.layers[0].attention().num_heads;
  const auto head_dim = static_cast<double>(model.layers[0].attention().head_dim);
  if (alibi) {
    config.ignore({"rope_scaling", "rope_parameters"});
    model.alibi = nn::AlibiOptions{
        .slopes = nn::alibi_slopes(heads), .scale = 1 / std::sqrt(head_dim), .rounded = true};
  } else {
    add_rope(config, model);
  }
  for (nn::LayerOptions& layer : model.layers) {
    layer.norm = model.norm;
    if (parallel) layer.form = nn::LayerOptions::Form::Parallel;
    if (parallel) layer.mlp_norm.clear();
    if (two_norms) {
      layer.attention_norm = "ln_attn";
      layer.mlp_norm = "ln_mlp";
    }
    layer.attention_path = "self_attention";
    nn::AttentionOptions& attention = layer.attention();
    if (!grouped) attention.num_kv_heads = multi_query ? 1 : heads;
    attention.layout = grouped || !multi_query ? nn::QkvLayout::PerGroup : nn::QkvLayout::Blocks;
    attention.qkv = "query_key_value";
    attention.output = "dense";
    attention.qkv_bias = attention.output_bias = bias;
    layer.mlp().gated = false;
    layer.mlp().bias = bias;
    layer.mlp().up = "dense_h_to_4h";
    layer.mlp().down = "dense_4h_to_h";
  }
  return model;
}

}  // namespace pippin::models
