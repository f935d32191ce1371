// XGLM (Meta 2021) and BioGPT (Microsoft 2022): OPT's layers with scaled embeddings, and positions
// of sines and cosines, or learned ones.

#include <cmath>

#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"

namespace pippin::models {

namespace {

void use_layers(nn::DecoderOptions& model) {
  model.final_norm = "layer_norm";
  model.norm.kind = nn::NormOptions::Kind::Layer;
  model.norm.bias = true;
  for (nn::LayerOptions& layer : model.layers) {
    layer.norm = model.norm;
    layer.attention_norm = "self_attn_layer_norm";
    layer.mlp_norm = "final_layer_norm";
    layer.mlp_path.clear();
    layer.attention().output = "out_proj";
    layer.attention().qkv_bias = layer.attention().output_bias = true;
    layer.mlp().gated = false;
    layer.mlp().bias = true;
    layer.mlp().up = "fc1";
    layer.mlp().down = "fc2";
  }
}

double embedding_scale(const Config& config, const nn::DecoderOptions& model) {
  const bool scaled = config.flag("scale_embedding", true);
  return scaled ? std::sqrt(static_cast<double>(model.hidden_size)) : 1.0;
}

}  // namespace

nn::DecoderOptions xglm(const Config& given) {
  Config config = given;
  config.alias("hidden_size", "d_model");
  config.alias("intermediate_size", "ffn_dim");
  config.alias("num_hidden_layers", "num_layers");
  config.alias("num_attention_heads", "attention_heads");
  config.require_absent("add_cross_attention");
  nn::DecoderOptions model = plain_decoder(config, {.vocab_size = 256008,
                                                    .hidden_size = 1024,
                                                    .intermediate_size = 4096,
                                                    .num_layers = 24,
                                                    .num_heads = 16,
                                                    .context = 2048,
                                                    .epsilon_key = "layer_norm_eps",
                                                    .epsilon = 1e-5,
                                                    .activation_key = "activation_function",
                                                    .activation = "gelu",
                                                    .tied = true});
  use_layers(model);
  model.embedding_scale = embedding_scale(config, model);
  model.positions = nn::LearnedPositions{
      .path = "embed_positions", .offset = 2, .sinusoids = nn::LearnedPositions::Sinusoids::Whole};
  return model;
}

nn::DecoderOptions biogpt(const Config& config) {
  nn::DecoderOptions model = plain_decoder(config, {.vocab_size = 42384,
                                                    .hidden_size = 1024,
                                                    .intermediate_size = 4096,
                                                    .num_layers = 24,
                                                    .num_heads = 16,
                                                    .context = 1024,
                                                    .epsilon_key = "layer_norm_eps",
                                                    .epsilon = 1e-12,
                                                    .activation = "gelu",
                                                    .tied = true});
  use_layers(model);
  model.base = "biogpt";
  model.head = "output_projection";
  model.embedding_scale = embedding_scale(config, model);
  model.positions =
      nn::LearnedPositions{.path = "embed_positions", .rows = model.context + 2, .offset = 2};
  return model;
}

}  // namespace pippin::models
