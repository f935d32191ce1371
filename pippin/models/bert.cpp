// BERT (Devlin et al. 2018): learned positions, layers whose norms come after the sums, GELU. The
// base of most small embedding models and cross-encoders: MiniLM, bge, e5, gte.
#include <string>

#include <fmt/format.h>

#include "pippin/models/config/common.h"
#include "pippin/models/encoders.h"

namespace pippin::models {

EncoderDescription bert_like(const Config& config, const BertDefaults& defaults) {
  EncoderDescription model;
  nn::EncoderOptions& encoder = model.encoder;
  encoder.bases = {"bert", ""};
  encoder.vocab_size = config.size("vocab_size", defaults.vocab_size);
  encoder.hidden_size = config.size("hidden_size", defaults.hidden_size);
  encoder.context = config.size("max_position_embeddings", defaults.context, kMaxContext);
  encoder.positions =
      nn::LearnedPositions{.path = "embeddings.position_embeddings", .rows = encoder.context};
  encoder.num_token_types = config.json().get_int_or("type_vocab_size", defaults.token_types);
  config.ignore({"type_vocab_size"});
  if (encoder.num_token_types < 0 || encoder.num_token_types > kMaxSize) {
    config.invalid("type_vocab_size",
                   fmt::format("{} is not a number of token types", encoder.num_token_types));
  }
  if (encoder.num_token_types > 0) encoder.token_types = "embeddings.token_type_embeddings";
  encoder.several_token_types = encoder.num_token_types > 1;
  encoder.norm = {.kind = nn::NormOptions::Kind::Layer,
                  .epsilon = config.number("layer_norm_eps", defaults.epsilon),
                  .bias = true};
  encoder.embedding_norm = "embeddings.LayerNorm";
  // Architectures with other positions have read it.
  const bool is_read = config.was_read("position_embedding_type");
  const std::string kind = config.text("position_embedding_type", "absolute");
  if (!is_read && kind != "absolute") {
    config.unsupported("position_embedding_type", "'" + kind + "' is not supported");
  }
  config.require_flag("is_decoder", false, false);

  nn::LayerOptions layer;
  layer.form = nn::LayerOptions::Form::NormAfter;
  layer.features = encoder.hidden_size;
  layer.norm = encoder.norm;
  layer.attention_norm = "attention.output.LayerNorm";
  layer.mlp_norm = "output.LayerNorm";
  layer.attention_path = "attention";
  layer.mlp_path = "";
  nn::AttentionOptions& attention = layer.attention();
  attention.features = encoder.hidden_size;
  attention.num_heads = attention.num_kv_heads =
      config.size("num_attention_heads", defaults.num_heads, kMaxHeads);
  config.require_multiple("hidden_size", encoder.hidden_size, "num_attention_heads",
                          attention.num_heads);
  attention.head_dim = encoder.hidden_size / attention.num_heads;
  attention.qkv_bias = attention.output_bias = true;
  attention.query = "self.query";
  attention.key = "self.key";
  attention.value = "self.value";
  attention.output = "output.dense";
  nn::MLPOptions& mlp = layer.mlp();
  mlp.features = encoder.hidden_size;
  mlp.hidden_features = config.size("intermediate_size", defaults.intermediate_size);
  mlp.activation = config.activation("hidden_act", "gelu");
  mlp.gated = false;
  mlp.bias = true;
  mlp.up = "intermediate.dense";
  mlp.down = "output.dense";
  const int64_t count = config.size("num_hidden_layers", defaults.num_layers, kMaxLayers);
  encoder.layers.assign(static_cast<size_t>(count), layer);

  model.classifier = {.dense = "pooler.dense", .dense_of_encoder = true, .output = "classifier"};
  model.pooler = {.dense = "pooler.dense", .dense_of_encoder = true};
  model.language_head = bert_language_head(config, encoder);
  return model;
}

nn::ClassifierOptions bert_language_head(const Config& config, const nn::EncoderOptions& encoder,
                                         const std::string& transform, const std::string& owner) {
  nn::ClassifierOptions head{.from = nn::ClassifierOptions::From::Each,
                             .dense = transform + ".dense",
                             .activation = config.activation("hidden_act", "gelu"),
                             .norm = {transform + ".LayerNorm", encoder.norm},
                             .tied = config.flag("tie_word_embeddings", true),
                             .bias_owner = owner,
                             .labels = encoder.vocab_size};
  if (!head.tied) head.output = owner + ".decoder";
  return head;
}

EncoderDescription bert(const Config& config) {
  const bool is_jina = config.contains("feed_forward_type") ||
                       config.json().get_string_or("position_embedding_type", "") == "alibi";
  return is_jina ? jina_bert(config) : bert_like(config);
}

}  // namespace pippin::models
