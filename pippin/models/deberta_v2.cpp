// DeBERTa, versions 2 and 3 (He et al. 2020, 2021): BERT with disentangled attention instead of
// positions in the embedding.
#include <string>

#include "pippin/models/config/common.h"
#include "pippin/models/encoders.h"

namespace pippin::models {

namespace {

// "c2p|p2c", or a list.
std::vector<std::string> position_parts(const Config& config) {
  const auto value = config.find("pos_att_type");
  if (!value) return {};
  if (value->is_array()) return value->as_strings();
  std::vector<std::string> parts;
  const std::string_view text = value->as_string();
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find('|', begin), text.size());
    parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

}  // namespace

EncoderDescription deberta_v2(const Config& config) {
  EncoderDescription model = bert_like(config, 1e-7);
  nn::EncoderOptions& encoder = model.encoder;
  encoder.bases = {"deberta", ""};
  encoder.positions.reset();
  if (config.flag("position_biased_input", true)) {
    encoder.positions =
        nn::LearnedPositions{.path = "embeddings.position_embeddings", .rows = encoder.context};
  }
  if (!config.contains("type_vocab_size")) {
    encoder.token_types.clear();
    encoder.several_token_types = false;
  }
  config.require_absent("conv_kernel_size");
  config.require_flag("relative_attention", false, true);
  const int64_t width = encoder.hidden_size;
  if (config.size("embedding_size", width) != width) {
    config.unsupported("embedding_size", "one other than hidden_size is not supported");
  }
  int64_t most = config.json().get_int_or("max_relative_positions", -1);
  if (most < 1) most = encoder.context;
  const int64_t buckets = std::max<int64_t>(config.json().get_int_or("position_buckets", -1), 0);
  if (most > kMaxContext || buckets > kMaxContext || buckets == 1 || buckets % 2 != 0) {
    config.invalid("position_buckets", "no even number from 2");
  }

  nn::DisentangledAttentionOptions attention;
  const nn::AttentionOptions plain = encoder.layers.at(0).attention();
  attention.features = width;
  attention.num_heads = plain.num_heads;
  attention.head_dim = plain.head_dim;
  attention.context = encoder.context;
  attention.shared_projections = config.flag("share_att_key", false);
  attention.content_to_position = attention.position_to_content = false;
  for (const std::string& part : position_parts(config)) {
    if (part == "c2p") {
      attention.content_to_position = true;
    } else if (part == "p2c") {
      attention.position_to_content = true;
    } else {
      config.unsupported("pos_att_type", "'" + part + "' is not supported (known: c2p, p2c)");
    }
  }
  attention.positions = {
      .span = buckets > 0 ? buckets : most, .buckets = buckets, .max_distance = most};
  attention.query = "self.query_proj";
  attention.key = "self.key_proj";
  attention.value = "self.value_proj";
  attention.position_key = "self.pos_key_proj";
  attention.position_query = "self.pos_query_proj";
  attention.output = "output.dense";
  for (nn::LayerOptions& layer : encoder.layers) layer.mixer = attention;

  encoder.relative_rows = 2 * attention.positions.span;
  encoder.relative_embedding = "encoder.rel_embeddings";
  const std::string norm = config.text("norm_rel_ebd", "none");
  if (norm == "layer_norm") {
    encoder.relative_norm = "encoder.LayerNorm";
    encoder.relative_norm_options = encoder.norm;
  } else if (norm != "none") {
    config.unsupported("norm_rel_ebd", "'" + norm + "' is not supported (known: layer_norm, none)");
  }
  model.classifier = {.dense = "pooler.dense",
                      .activation = config.activation("pooler_hidden_act", "gelu"),
                      .output = "classifier"};
  return model;
}

}  // namespace pippin::models
