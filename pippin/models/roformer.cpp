// RoFormer (Su et al. 2021): BERT with rotary positions on neighbouring pairs, and a separate
// embedding width.
#include <fmt/format.h>

#include "pippin/models/config/common.h"
#include "pippin/models/encoders.h"

namespace pippin::models {

void add_encoder_rope(const Config& config, nn::EncoderOptions& encoder, double theta,
                      bool interleaved) {
  const int64_t head_dim = encoder.layers.at(0).attention().head_dim;
  if (head_dim % 2 != 0) {
    config.invalid("num_attention_heads",
                   fmt::format("heads of {}: rotary positions rotate pairs", head_dim));
  }
  encoder.positions.reset();
  encoder.ropes = {rope_options(config, head_dim, {.theta = theta})};
  for (nn::LayerOptions& layer : encoder.layers) {
    layer.attention().rope = 0;
    layer.attention().rope_dims = head_dim;
    layer.attention().interleaved = interleaved;
  }
}

EncoderDescription roformer(const Config& config) {
  EncoderDescription model = bert_like(config, {.vocab_size = 50000, .context = 1536});
  nn::EncoderOptions& encoder = model.encoder;
  encoder.bases = {"roformer", ""};
  encoder.embedding_size = config.size("embedding_size", encoder.hidden_size);
  encoder.projection = "embeddings_project";
  config.require_flag("rotary_value", false, false);
  add_encoder_rope(config, encoder, 10000.0, /*interleaved=*/true);
  encoder.rope_table = "encoder.embed_positions";
  model.classifier = two_layer_classifier(config.activation("hidden_act", "gelu"));
  model.pooler.reset();
  model.language_head->dense_size = encoder.embedding_size;
  return model;
}

}  // namespace pippin::models
