// ConvBERT (Jiang et al. 2020): ELECTRA with convolutions in place of half of the heads.
#include <fmt/format.h>

#include "pippin/models/config/common.h"
#include "pippin/models/encoders.h"

namespace pippin::models {

EncoderDescription convbert(const Config& config) {
  EncoderDescription model = bert_like(config);
  nn::EncoderOptions& encoder = model.encoder;
  encoder.bases = {"convbert", ""};
  encoder.embedding_size = config.size("embedding_size", 768);
  encoder.projection = "embeddings_project";
  const int64_t heads = encoder.layers.at(0).attention().num_heads;
  if (config.size("head_ratio", 2) != 2 || heads % 2 != 0) {
    config.unsupported("head_ratio", fmt::format("only 2 and an even number of heads are "
                                                 "supported, not {} with {} heads",
                                                 config.size("head_ratio", 2), heads));
  }
  nn::SpanAttentionOptions attention;
  attention.features = encoder.hidden_size;
  attention.num_heads = heads / 2;
  attention.head_dim = encoder.hidden_size / heads;
  attention.size = config.size("conv_kernel_size", 9, kMaxContext);
  if (attention.size % 2 == 0) {
    config.invalid("conv_kernel_size", fmt::format("{} is not an odd number", attention.size));
  }
  const int64_t groups = config.size("num_groups", 1);
  for (nn::LayerOptions& layer : encoder.layers) {
    layer.mixer = attention;
    if (groups == 1) continue;
    nn::MLPOptions& mlp = layer.mlp();
    config.require_multiple("hidden_size", mlp.features, "num_groups", groups);
    config.require_multiple("intermediate_size", mlp.hidden_features, "num_groups", groups);
    mlp.up_groups = mlp.down_groups = groups;
    mlp.stacked_groups = true;
  }
  model.sees_padding = true;
  model.pooler.reset();
  model.classifier = two_layer_classifier(config.activation("hidden_act", "gelu"));
  model.language_head = electra_language_head(config, encoder);
  return model;
}

}  // namespace pippin::models
