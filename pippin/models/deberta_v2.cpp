// DeBERTa, versions 2 and 3 (He et al. 2020, 2021): BERT with disentangled attention instead of
// positions in the embedding.
#include <algorithm>
#include <string>
#include <variant>

#include <fmt/format.h>

#include "pippin/models/config/common.h"
#include "pippin/models/encoders.h"

namespace pippin::models {

namespace {

// "c2p|p2c" in any case and with spaces, or a list.
std::vector<std::string> position_parts(const Config& config) {
  const auto value = config.find("pos_att_type");
  if (!value) return {};
  if (value->is_array()) return value->as_strings();
  std::vector<std::string> parts(1);
  for (const char c : value->as_string()) {
    if (c == '|') {
      parts.emplace_back();
    } else if (c != ' ') {
      parts.back() += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    }
  }
  return parts;
}

}  // namespace

EncoderDescription deberta_like(const Config& config, const BertDefaults& defaults,
                                const nn::DisentangledAttentionOptions& names) {
  EncoderDescription model = bert_like(config, defaults);
  nn::EncoderOptions& encoder = model.encoder;
  encoder.bases = {"deberta", ""};
  encoder.positions.reset();
  if (config.flag("position_biased_input", true)) {
    encoder.positions =
        nn::LearnedPositions{.path = "embeddings.position_embeddings", .rows = encoder.context};
  }
  config.require_flag("relative_attention", false, true);
  const int64_t width = encoder.hidden_size;
  for (const char* key : {"embedding_size", "pooler_hidden_size"}) {
    if (config.size(key, width) != width) {
      config.unsupported(key, "values other than hidden_size are not supported");
    }
  }
  int64_t most = config.json().get_int_or("max_relative_positions", -1);
  if (most < 1) most = encoder.context;
  if (most > kMaxContext) {
    config.invalid("max_relative_positions", fmt::format("{} is above {}", most, kMaxContext));
  }
  nn::DisentangledAttentionOptions attention = names;
  const nn::AttentionOptions plain = encoder.layers.at(0).attention();
  attention.features = width;
  attention.num_heads = plain.num_heads;
  attention.head_dim = plain.head_dim;
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
  attention.positions = {.span = most, .buckets = 0, .max_distance = most};
  for (nn::LayerOptions& layer : encoder.layers) layer.mixer = attention;
  encoder.relative_rows = 2 * most;
  encoder.relative_embedding = "encoder.rel_embeddings";

  model.classifier = {.dense = "pooler.dense",
                      .activation = config.activation("pooler_hidden_act", "gelu"),
                      .output = "classifier"};
  model.pooler.reset();
  // Since transformers 5, the head has other names if `legacy` is false.
  if (!config.flag("legacy", true)) {
    model.language_head =
        bert_language_head(config, encoder, "lm_predictions.lm_head", "lm_predictions.lm_head");
  }
  return model;
}

EncoderDescription deberta_v2(const Config& config) {
  nn::DisentangledAttentionOptions names;
  names.shared_projections = config.flag("share_att_key", false);
  names.query = "self.query_proj";
  names.key = "self.key_proj";
  names.value = "self.value_proj";
  names.position_key = "self.pos_key_proj";
  names.position_query = "self.pos_query_proj";
  names.output = "output.dense";
  EncoderDescription model = deberta_like(config,
                                          {.vocab_size = 128100,
                                           .hidden_size = 1536,
                                           .intermediate_size = 6144,
                                           .num_layers = 24,
                                           .num_heads = 24,
                                           .token_types = 0,
                                           .epsilon = 1e-7},
                                          names);
  nn::EncoderOptions& encoder = model.encoder;
  const int64_t buckets = std::max<int64_t>(config.json().get_int_or("position_buckets", -1), 0);
  if (buckets > kMaxContext || buckets == 1 || buckets % 2 != 0) {
    config.invalid("position_buckets", fmt::format("{} is not an even number from 2", buckets));
  }
  if (buckets > 0) {
    for (nn::LayerOptions& layer : encoder.layers) {
      auto& positions = std::get<nn::DisentangledAttentionOptions>(layer.mixer).positions;
      positions.span = positions.buckets = buckets;
    }
    encoder.relative_rows = 2 * buckets;
  }
  const std::string norm = config.text("norm_rel_ebd", "none");
  if (norm == "layer_norm") {
    encoder.relative_norm = "encoder.LayerNorm";
    encoder.relative_norm_options = encoder.norm;
  } else if (norm != "none") {
    config.unsupported("norm_rel_ebd", "'" + norm + "' is not supported (known: layer_norm, none)");
  }
  const int64_t size = config.json().get_int_or("conv_kernel_size", 0);
  config.ignore({"conv_kernel_size"});
  if (size == 0) return model;
  if (size < 1 || size > kMaxContext || size % 2 == 0) {
    config.invalid("conv_kernel_size", fmt::format("{} is not an odd number", size));
  }
  nn::TokenConvolutionOptions convolution{.path = "encoder.conv",
                                          .features = encoder.hidden_size,
                                          .size = size,
                                          .groups = config.size("conv_groups", 1),
                                          .activation = config.activation("conv_act", "tanh"),
                                          .norm = encoder.norm};
  config.require_multiple("hidden_size", convolution.features, "conv_groups", convolution.groups);
  encoder.convolution = convolution;
  return model;
}

}  // namespace pippin::models
