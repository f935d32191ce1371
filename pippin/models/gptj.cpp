// GPT-J (EleutherAI 2021): neighbouring pairs of the first rotary_dim dimensions are rotated; one
// LayerNorm before attention and feed-forward, which run in parallel; a head with a bias.
#include "pippin/models/architectures.h"
#include "pippin/models/common.h"

namespace pippin::models {

nn::DecoderOptions gptj(const Config& given) {
  Config config = given;
  config.alias("hidden_size", "n_embd");
  config.alias("num_hidden_layers", "n_layer");
  config.alias("num_attention_heads", "n_head");
  config.alias("max_position_embeddings", "n_positions");
  config.alias("intermediate_size", "n_inner");
  nn::DecoderOptions model = plain_decoder(config, {.vocab_size = 50400,
                                                    .hidden_size = 4096,
                                                    .num_layers = 28,
                                                    .num_heads = 16,
                                                    .context = 2048,
                                                    .epsilon_key = "layer_norm_epsilon",
                                                    .epsilon = 1e-5,
                                                    .activation_key = "activation_function",
                                                    .activation = "gelu_new"});
  model.base = "transformer";
  model.embedding = "wte";
  model.layers_path = "h";
  model.final_norm = "ln_f";
  model.head_bias = true;
  model.norm.kind = nn::NormOptions::Kind::Layer;
  model.norm.bias = true;
  const int64_t head_dim = model.layers[0].attention.head_dim;
  const int64_t dims = config.size("rotary_dim", 64, kMaxHeadDim);
  if (dims > head_dim || dims % 2 != 0) {
    config.invalid("rotary_dim", "odd, or more than a head has");
  }
  model.ropes.push_back({.dims = dims});
  for (nn::LayerOptions& layer : model.layers) {
    layer.norm = model.norm;
    layer.form = nn::LayerOptions::Form::Parallel;
    layer.attention_norm = "ln_1";
    layer.mlp_norm.clear();
    layer.attention_path = "attn";
    layer.attention.output = "out_proj";
    layer.attention.rope = 0;
    layer.attention.rope_dims = dims;
    layer.attention.interleaved = true;
    layer.mlp.gated = false;
    layer.mlp.bias = true;
    layer.mlp.up = "fc_in";
    layer.mlp.down = "fc_out";
  }
  return model;
}

}  // namespace pippin::models
