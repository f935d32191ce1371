// ModernBERT (Warner et al. 2024): norms before the blocks, GeGLU, rotary positions with two bases,
// a window in most layers.
#include <string>
#include <vector>

#include <fmt/format.h>

#include "pippin/models/config/common.h"
#include "pippin/models/config/rope_settings.h"
#include "pippin/models/encoders.h"

namespace pippin::models {

EncoderDescription modernbert(const Config& config) {
  EncoderDescription model;
  nn::EncoderOptions& encoder = model.encoder;
  encoder.bases = {"model", ""};
  encoder.vocab_size = config.size("vocab_size", 50368);
  encoder.hidden_size = config.size("hidden_size", 768);
  encoder.context = config.size("max_position_embeddings", 8192, kMaxContext);
  encoder.embedding = "embeddings.tok_embeddings";
  encoder.embedding_norm = "embeddings.norm";
  encoder.final_norm = "final_norm";
  encoder.layers_path = "layers";
  encoder.norm = {.kind = nn::NormOptions::Kind::Layer,
                  .epsilon = config.number("norm_eps", 1e-5),
                  .bias = config.flag("norm_bias", false)};

  nn::LayerOptions layer;
  layer.features = encoder.hidden_size;
  layer.norm = encoder.norm;
  layer.attention_norm = "attn_norm";
  layer.mlp_norm = "mlp_norm";
  layer.attention_path = "attn";
  nn::AttentionOptions& attention = layer.attention();
  attention.features = encoder.hidden_size;
  attention.num_heads = attention.num_kv_heads = config.size("num_attention_heads", 12, kMaxHeads);
  config.require_multiple("hidden_size", encoder.hidden_size, "num_attention_heads",
                          attention.num_heads);
  attention.head_dim = attention.rope_dims = encoder.hidden_size / attention.num_heads;
  if (attention.head_dim % 2 != 0) {
    config.invalid("num_attention_heads",
                   fmt::format("heads of {}: rotary positions rotate pairs", attention.head_dim));
  }
  attention.qkv_bias = attention.output_bias = config.flag("attention_bias", false);
  attention.layout = nn::QkvLayout::Blocks;
  attention.qkv = "Wqkv";
  attention.output = "Wo";
  nn::MLPOptions& mlp = layer.mlp();
  mlp.features = encoder.hidden_size;
  mlp.hidden_features = config.size("intermediate_size", 1152);
  mlp.activation = config.activation("hidden_activation", "gelu");
  mlp.bias = config.flag("mlp_bias", false);
  mlp.fused = true;
  mlp.gate = "Wi";
  mlp.down = "Wo";

  const int64_t every = config.size("global_attn_every_n_layers", 3);
  const int64_t half = config.size("local_attention", 128, kMaxContext) / 2;
  const double theta = config.number("global_rope_theta", 160000.0);
  encoder.ropes = {
      rope_options(config, attention.head_dim, {.theta = theta, .kind = kFullLayers}),
      sliding_rope(config, attention.head_dim, config.number("local_rope_theta", 10000.0))};
  const auto count = static_cast<size_t>(config.size("num_hidden_layers", 22, kMaxLayers));
  std::vector<bool> local;
  for (size_t i = 0; i < count; ++i) local.push_back(static_cast<int64_t>(i) % every != 0);
  local = sliding_layers(config, count).value_or(local);
  for (size_t i = 0; i < count; ++i) {
    nn::LayerOptions& own = encoder.layers.emplace_back(layer);
    if (i == 0) own.attention_norm.clear();
    own.attention().rope = local[i] ? 1 : 0;
    if (local[i]) own.attention().window = half;
  }

  model.classifier = {.dense = "head.dense",
                      .dense_bias = config.flag("classifier_bias", false),
                      .activation = config.activation("classifier_activation", "gelu"),
                      .norm = {"head.norm", encoder.norm},
                      .output = "classifier"};
  const std::string pooling = config.text("classifier_pooling", "cls");
  if (pooling == "mean") model.classifier.from = nn::ClassifierOptions::From::Mean;
  if (pooling != "mean" && pooling != "cls") {
    config.unsupported("classifier_pooling",
                       "'" + pooling + "' is not supported (known: cls, mean)");
  }
  model.token_classifier = model.classifier;
  model.token_classifier.from = nn::ClassifierOptions::From::Each;
  model.language_head = model.token_classifier;
  model.language_head->tied = config.flag("tie_word_embeddings", true);
  model.language_head->output = "decoder";
  model.language_head->output_bias = config.flag("decoder_bias", true);
  model.language_head->bias_owner = "decoder";
  model.language_head->labels = encoder.vocab_size;
  return model;
}

// ModernVBERT's text model; pictures are not supported, and its heads neither.
EncoderDescription modernvbert(const Config& config) {
  config.ignore({"vision_config", "pixel_shuffle_factor", "image_token_id", "classifier_pooling",
                 "classifier_bias", "vocab_size", "tie_word_embeddings"});
  const auto nested = config.find("text_config");
  if (!nested) config.invalid("text_config", "missing");
  const Config text(*nested);
  EncoderDescription model = modernbert(text);
  text.refuse_unread();
  nn::EncoderOptions& encoder = model.encoder;
  for (std::string* name :
       {&encoder.embedding, &encoder.embedding_norm, &encoder.final_norm, &encoder.layers_path}) {
    name->insert(0, "text_model.");
  }
  encoder.unused = {"vision_model.", "connector."};
  model.classifier.output.clear();
  model.token_classifier.output.clear();
  model.language_head.reset();
  return model;
}

}  // namespace pippin::models
