// GPT-2 (Radford et al. 2019): learned positions, LayerNorms, biases; matrices lie as (in, out).
#include <cmath>

#include "pippin/models/architectures.h"
#include "pippin/models/common.h"

namespace pippin::models {

nn::DecoderOptions gpt2(const Config& given) {
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
                                                    .activation = "gelu_new",
                                                    .tied = true});
  model.base = "transformer";
  model.embedding = "wte";
  model.layers_path = "h";
  model.final_norm = "ln_f";
  model.positions = {.path = "wpe", .rows = model.context};
  model.norm.kind = nn::NormOptions::Kind::Layer;
  model.norm.bias = true;
  config.require_absent("add_cross_attention");
  const bool scaled = config.flag("scale_attn_weights", true);
  const bool by_layer = config.flag("scale_attn_by_inverse_layer_idx", false);
  for (size_t i = 0; i < model.layers.size(); ++i) {
    nn::LayerOptions& layer = model.layers[i];
    layer.norm = model.norm;
    layer.attention_norm = "ln_1";
    layer.mlp_norm = "ln_2";
    layer.attention_path = "attn";
    nn::AttentionOptions& attention = layer.attention;
    attention.layout = nn::QkvLayout::Blocks;
    attention.transposed = true;
    attention.qkv = "c_attn";
    attention.output = "c_proj";
    attention.qkv_bias = attention.output_bias = true;
    const double whole = scaled ? 1 / std::sqrt(static_cast<double>(attention.head_dim)) : 1.0;
    attention.scale = by_layer ? whole / static_cast<double>(i + 1) : whole;
    layer.mlp.gated = false;
    layer.mlp.bias = layer.mlp.transposed = true;
    layer.mlp.up = "c_fc";
    layer.mlp.down = "c_proj";
  }
  return model;
}

}  // namespace pippin::models
