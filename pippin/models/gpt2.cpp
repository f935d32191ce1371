// GPT-2 (Radford et al. 2019): learned positions, LayerNorms, biases; matrices are stored as (in,
// out).
#include <cmath>

#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/lineages.h"

namespace pippin::models {

nn::DecoderOptions gpt2_like(Config& config, Defaults defaults) {
  config.alias("hidden_size", "n_embd");
  config.alias("num_hidden_layers", "n_layer");
  config.alias("num_attention_heads", "n_head");
  config.alias("max_position_embeddings", "n_positions");
  config.alias("intermediate_size", "n_inner");
  defaults.epsilon_key = "layer_norm_epsilon";
  defaults.epsilon = 1e-5;
  defaults.activation_key = "activation_function";
  nn::DecoderOptions model = plain_decoder(config, defaults);
  model.base = "transformer";
  model.embedding = "wte";
  model.layers_path = "h";
  model.final_norm = "ln_f";
  model.norm.kind = nn::NormOptions::Kind::Layer;
  model.norm.bias = true;
  for (nn::LayerOptions& layer : model.layers) {
    layer.norm = model.norm;
    layer.attention_norm = "ln_1";
    layer.mlp_norm = "ln_2";
    layer.attention_path = "attn";
    layer.attention().qkv = "c_attn";
    layer.attention().output = "c_proj";
    layer.attention().qkv_bias = layer.attention().output_bias = true;
    layer.mlp().gated = false;
    layer.mlp().bias = true;
    layer.mlp().up = "c_fc";
    layer.mlp().down = "c_proj";
  }
  return model;
}

nn::DecoderOptions gpt2(const Config& given) {
  Config config = given;
  nn::DecoderOptions model = gpt2_like(config, {.vocab_size = 50257,
                                                .hidden_size = 768,
                                                .num_layers = 12,
                                                .num_heads = 12,
                                                .context = 1024,
                                                .activation = "gelu_new",
                                                .tied = true});
  model.positions = nn::LearnedPositions{.path = "wpe", .rows = model.context};
  config.require_absent("add_cross_attention");
  const bool scaled = config.flag("scale_attn_weights", true);
  const bool by_layer = config.flag("scale_attn_by_inverse_layer_idx", false);
  for (size_t i = 0; i < model.layers.size(); ++i) {
    nn::AttentionOptions& attention = model.layers[i].attention();
    attention.layout = nn::QkvLayout::Blocks;
    attention.transposed = true;
    const double whole = scaled ? 1 / std::sqrt(static_cast<double>(attention.head_dim)) : 1.0;
    attention.scale = by_layer ? whole / static_cast<double>(i + 1) : whole;
    model.layers[i].mlp().transposed = true;
  }
  return model;
}

}  // namespace pippin::models
