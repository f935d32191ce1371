// SqueezeBERT (Iandola et al. 2020): BERT with grouped convolutions in place of matrices.
#include <string>

#include "pippin/models/config/common.h"
#include "pippin/models/encoders.h"

namespace pippin::models {
namespace {

int64_t groups_of(const Config& config, const char* key, int64_t fallback, int64_t inputs,
                  int64_t outputs) {
  const int64_t groups = config.size(key, fallback);
  config.require_multiple("hidden_size", inputs, key, groups);
  config.require_multiple("hidden_size", outputs, key, groups);
  return groups;
}

}  // namespace

EncoderDescription squeezebert(const Config& config) {
  EncoderDescription model = bert_like(config);
  nn::EncoderOptions& encoder = model.encoder;
  const int64_t width = encoder.hidden_size;
  encoder.bases = {"transformer", ""};
  encoder.layers_path = "encoder.layers";
  if (config.size("embedding_size", width) != width) {
    config.unsupported("embedding_size", "values other than hidden_size are not supported");
  }
  for (nn::LayerOptions& layer : encoder.layers) {
    layer.attention_norm = "post_attention.layernorm";
    layer.mlp_norm = "output.layernorm";
    layer.attention_path = "";
    nn::AttentionOptions& attention = layer.attention();
    attention.query = "attention.query";
    attention.key = "attention.key";
    attention.value = "attention.value";
    attention.output = "post_attention.conv1d";
    attention.query_groups = groups_of(config, "q_groups", 4, width, width);
    attention.key_groups = groups_of(config, "k_groups", 4, width, width);
    attention.value_groups = groups_of(config, "v_groups", 4, width, width);
    attention.output_groups = groups_of(config, "post_attention_groups", 1, width, width);
    nn::MLPOptions& mlp = layer.mlp();
    const int64_t inner = mlp.hidden_features;
    mlp.up = "intermediate.conv1d";
    mlp.down = "output.conv1d";
    mlp.up_groups = groups_of(config, "intermediate_groups", 4, width, inner);
    mlp.down_groups = groups_of(config, "output_groups", 4, inner, width);
  }
  return model;
}

}  // namespace pippin::models
