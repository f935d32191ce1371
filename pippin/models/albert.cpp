// ALBERT (Lan et al. 2019): BERT with an embedding of its own width, whose layers share the weights
// of their group.
#include <string>

#include <fmt/format.h>

#include "pippin/models/config/common.h"
#include "pippin/models/encoders.h"

namespace pippin::models {

EncoderDescription albert(const Config& config) {
  EncoderDescription model = bert_like(
      config,
      {.vocab_size = 30000, .hidden_size = 4096, .intermediate_size = 16384, .num_heads = 64});
  nn::EncoderOptions& encoder = model.encoder;
  encoder.bases = {"albert", ""};
  encoder.embedding_size = config.size("embedding_size", 128);
  encoder.projection = "encoder.embedding_hidden_mapping_in";
  encoder.layers_path = "encoder.albert_layer_groups";
  const auto layers = static_cast<int64_t>(encoder.layers.size());
  const int64_t groups = config.size("num_hidden_groups", 1, kMaxLayers);
  const int64_t inner = config.size("inner_group_num", 1, kMaxLayers);
  if (groups > layers) {
    config.invalid("num_hidden_groups", fmt::format("{} for {} layers", groups, layers));
  }
  // Each layer repeats all the layers of its group.
  std::vector<nn::LayerOptions> all;
  for (int64_t i = 0; i < layers; ++i) {
    for (int64_t part = 0; part < inner; ++part) {
      nn::LayerOptions layer = encoder.layers[static_cast<size_t>(i)];
      // Like the class: the group by a quotient of floats.
      const auto group = static_cast<int64_t>(
          static_cast<double>(i) / (static_cast<double>(layers) / static_cast<double>(groups)));
      layer.path = fmt::format("{}.albert_layers.{}", group, part);
      layer.attention_norm = "attention.LayerNorm";
      layer.mlp_norm = "full_layer_layer_norm";
      layer.attention().query = "query";
      layer.attention().key = "key";
      layer.attention().value = "value";
      layer.attention().output = "dense";
      layer.mlp().activation = config.activation("hidden_act", "gelu_new");
      layer.mlp().up = "ffn";
      layer.mlp().down = "ffn_output";
      all.push_back(std::move(layer));
    }
  }
  encoder.layers = std::move(all);
  model.classifier.dense = "pooler";
  model.pooler->dense = "pooler";
  model.language_head = bert_language_head(config, encoder, "predictions", "predictions");
  model.language_head->activation = config.activation("hidden_act", "gelu_new");
  model.language_head->dense_size = encoder.embedding_size;
  return model;
}

}  // namespace pippin::models
