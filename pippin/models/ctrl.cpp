// CTRL (Salesforce 2019): sines and cosines for positions, LayerNorms before each half.

#include <cmath>

#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/lineages.h"

namespace pippin::models {

nn::DecoderOptions ctrl(const Config& given) {
  Config config = given;
  config.alias("intermediate_size", "dff");
  nn::DecoderOptions model = gpt2_like(config, {.vocab_size = 246534,
                                                .hidden_size = 1280,
                                                .intermediate_size = 8192,
                                                .num_layers = 48,
                                                .num_heads = 16,
                                                .context = 256,
                                                .activation = "relu",
                                                .tied = true});
  model.norm.epsilon = config.number("layer_norm_epsilon", 1e-6);
  model.embedding = "w";
  model.embedding_scale = std::sqrt(static_cast<double>(model.hidden_size));
  model.positions = nn::LearnedPositions{.path = "pos_encoding",
                                         .sinusoids = nn::LearnedPositions::Sinusoids::Open};
  model.final_norm = "layernorm";
  model.head_bias = true;
  for (nn::LayerOptions& layer : model.layers) {
    layer.norm = model.norm;
    layer.attention_norm = "layernorm1";
    layer.mlp_norm = "layernorm2";
    layer.attention_path = "multi_head_attention";
    layer.mlp_path = "ffn";
    layer.attention().query = "Wq";
    layer.attention().key = "Wk";
    layer.attention().value = "Wv";
    layer.attention().output = "dense";
    layer.mlp().up = "0";
    layer.mlp().down = "2";
  }
  return model;
}

}  // namespace pippin::models
