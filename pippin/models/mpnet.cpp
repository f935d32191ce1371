// MPNet (Song et al. 2020): RoBERTa's positions, and T5's scores by distance in every layer.
#include "pippin/models/encoders.h"

namespace pippin::models {

EncoderDescription mpnet(const Config& config) {
  EncoderDescription model = bert_like(config, {.vocab_size = 30527});
  nn::EncoderOptions& encoder = model.encoder;
  encoder.bases = {"mpnet", ""};
  encoder.token_types.clear();
  encoder.several_token_types = false;
  count_positions(config, encoder, 1);
  for (nn::LayerOptions& layer : encoder.layers) {
    layer.attention_path = "attention.attn";
    layer.attention_norm = "attention.LayerNorm";
    layer.attention().query = "q";
    layer.attention().key = "k";
    layer.attention().value = "v";
    layer.attention().output = "o";
  }
  // The class has 32 buckets regardless of the configuration's number of rows.
  if (config.size("relative_attention_num_buckets", 32) != 32) {
    config.unsupported("relative_attention_num_buckets", "only 32 is supported");
  }
  encoder.relative_bias = {.path = "encoder.relative_attention_bias",
                           .heads = encoder.layers.at(0).attention().num_heads};
  model.classifier = two_layer_classifier(nn::Activation::Tanh);
  model.language_head = roberta_language_head(config, encoder);
  return model;
}

}  // namespace pippin::models
