// GPT (OpenAI 2018): GPT-2's matrices with norms after attention and feed-forward.
#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/lineages.h"

namespace pippin::models {

nn::DecoderOptions openai_gpt(const Config& given) {
  Config config = given;
  config.alias("activation_function", "afn");
  nn::DecoderOptions model = gpt2_like(config, {.vocab_size = 40478,
                                                .hidden_size = 768,
                                                .num_layers = 12,
                                                .num_heads = 12,
                                                .context = 512,
                                                .activation = "gelu",
                                                .tied = true});
  // The class's name for Hendrycks and Gimpel's approximation.
  if (model.layers.at(0).mlp().activation == nn::Activation::Gelu) {
    for (nn::LayerOptions& layer : model.layers) {
      layer.mlp().activation = nn::Activation::GeluTanh;
    }
  }
  model.embedding = "tokens_embed";
  model.positions = nn::LearnedPositions{.path = "positions_embed", .rows = model.context};
  model.final_norm.clear();
  for (nn::LayerOptions& layer : model.layers) {
    layer.form = nn::LayerOptions::Form::NormAfter;
    layer.attention().layout = nn::QkvLayout::Blocks;
    layer.attention().transposed = true;
    layer.mlp().transposed = true;
  }
  return model;
}

}  // namespace pippin::models
