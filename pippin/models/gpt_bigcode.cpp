// GPT-BigCode (StarCoder, SantaCoder): GPT-2 with one head of keys and values, and matrices that
// lie as (out, in).
#include "pippin/models/architectures.h"
#include "pippin/models/common.h"

namespace pippin::models {

nn::DecoderOptions gpt_bigcode(const Config& given) {
  Config config = given;
  config.alias("hidden_size", "n_embd");
  config.alias("num_hidden_layers", "n_layer");
  config.alias("num_attention_heads", "n_head");
  config.alias("max_position_embeddings", "n_positions");
  config.alias("intermediate_size", "n_inner");
  nn::DecoderOptions model = plain_decoder(config, {.vocab_size = 50257,
                                                    .hidden_size = 768,
                                                    .num_layers = 12,
                                                    .num_heads = 12,
                                                    .context = 1024,
                                                    .epsilon_key = "layer_norm_epsilon",
                                                    .epsilon = 1e-5,
                                                    .activation_key = "activation_function",
                                                    .activation = "gelu_pytorch_tanh",
                                                    .tied = true});
  model.base = "transformer";
  model.embedding = "wte";
  model.layers_path = "h";
  model.final_norm = "ln_f";
  model.positions = {.path = "wpe", .rows = model.context};
  model.norm.kind = nn::NormOptions::Kind::Layer;
  model.norm.bias = true;
  config.require_absent("add_cross_attention");
  const bool multi_query = config.flag("multi_query", true);
  const bool scaled = config.flag("scale_attn_weights", true);
  for (nn::LayerOptions& layer : model.layers) {
    layer.norm = model.norm;
    layer.attention_norm = "ln_1";
    layer.mlp_norm = "ln_2";
    layer.attention_path = "attn";
    nn::AttentionOptions& attention = layer.attention;
    attention.num_kv_heads = multi_query ? 1 : attention.num_heads;
    attention.layout = multi_query ? nn::QkvLayout::Blocks : nn::QkvLayout::PerGroup;
    attention.qkv = "c_attn";
    attention.output = "c_proj";
    attention.qkv_bias = attention.output_bias = true;
    if (!scaled) attention.scale = 1.0;
    layer.mlp.gated = false;
    layer.mlp.bias = true;
    layer.mlp.up = "c_fc";
    layer.mlp.down = "c_proj";
  }
  return model;
}

}  // namespace pippin::models
