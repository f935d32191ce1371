// Encoder–decoder models: T5 (Raffel et al. 2020), Flan-T5, mT5, UMT5 and LongT5.
#include <cmath>

#include "pippin/models/config/t5_config.h"
#include "pippin/models/encoders.h"
#include "pippin/models/encoders/encoder_decoder_description.h"

namespace pippin::models {

EncoderDecoderDescription t5_encoder_decoder(const Config& config) {
  const T5Config sizes(config);
  EncoderDecoderDescription model;
  model.encoder = describe_encoder(config).encoder;
  model.vocab_size = sizes.vocab_size;
  model.width = sizes.width;
  model.context = sizes.context;
  model.start = config.json().get_int_or("decoder_start_token_id", 0);
  model.embedding = sizes.embedding;
  model.norm = sizes.norm;
  model.final_norm = "final_layer_norm";
  model.layers_path = "block";
  for (int64_t i = 0; i < sizes.decoder_layers; ++i) {
    auto& [own, across] = model.layers.emplace_back();
    own.features = sizes.width;
    own.norm = sizes.norm;
    own.attention_norm = "layer.0.layer_norm";
    own.attention_path = "layer.0.SelfAttention";
    own.mixer = sizes.attention();
    own.mlp_norm.clear();
    own.feed_forward = nn::NoFeedForwardOptions{};
    across = own;
    across.attention_norm = "layer.1.layer_norm";
    across.attention_path = "layer.1.EncDecAttention";
    across.attention().keys_of = i;
    across.mlp_norm = "layer.2.layer_norm";
    across.mlp_path = "layer.2.DenseReluDense";
    across.feed_forward = sizes.mlp();
  }
  model.bias = sizes.bias;
  model.bias->path = "layer.0.SelfAttention.relative_attention_bias";
  model.bias->both_ways = false;
  model.bias_of_each_layer = sizes.bias_of_each_layer;
  model.tied = sizes.tied;
  // v1.0 models share the embedding with the head, and scale the head's input.
  if (sizes.tied) {
    model.head_scale = 1 / std::sqrt(static_cast<double>(sizes.width));
    model.unused = {"lm_head."};
  }
  return model;
}

}  // namespace pippin::models
