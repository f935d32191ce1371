// The encoder of T5 (Raffel et al. 2020), mT5, UMT5 and LongT5: RMS norms before the blocks,
// unscaled scores, with biases by distance that the layers share (UMT5 has separate ones).
#include <string>

#include <fmt/format.h>

#include "pippin/models/config/common.h"
#include "pippin/models/config/t5_config.h"
#include "pippin/models/encoders.h"

namespace pippin::models {

EncoderDescription t5_encoder(const Config& config) {
  const T5Config sizes(config);
  EncoderDescription model;
  nn::EncoderOptions& encoder = model.encoder;
  encoder.vocab_size = sizes.vocab_size;
  encoder.hidden_size = sizes.width;
  encoder.context = sizes.context;
  encoder.bases = {"", "transformer"};
  encoder.embedding = sizes.embedding;
  encoder.norm = sizes.norm;
  encoder.final_norm = "encoder.final_layer_norm";
  encoder.layers_path = "encoder.block";
  encoder.relative_bias = sizes.bias;
  const std::string attention =
      sizes.radius ? "layer.0.LocalSelfAttention" : "layer.0.SelfAttention";
  encoder.relative_bias->path = "encoder.block.0." + attention + ".relative_attention_bias";
  nn::LayerOptions layer;
  layer.features = sizes.width;
  layer.norm = sizes.norm;
  layer.attention_norm = "layer.0.layer_norm";
  layer.attention_path = attention;
  layer.mixer = sizes.attention();
  layer.attention().window = sizes.radius;
  layer.mlp_norm = "layer.1.layer_norm";
  layer.mlp_path = "layer.1.DenseReluDense";
  layer.feed_forward = sizes.mlp();
  encoder.layers.assign(static_cast<size_t>(sizes.encoder_layers), layer);
  // Some files have a copy of the embedding under another name.
  encoder.unused = {"encoder.embed_tokens."};
  return model;
}

EncoderDescription umt5_encoder(const Config& config) {
  EncoderDescription model = t5_encoder(config);
  model.encoder.relative_bias_of_layers = true;
  model.encoder.relative_bias->path = "layer.0.SelfAttention.relative_attention_bias";
  return model;
}

}  // namespace pippin::models
