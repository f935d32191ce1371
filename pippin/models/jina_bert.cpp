// JinaBERT (Guenther et al. 2023, jina-embeddings-v2), whose model_type is BERT's: distances
// between tokens lower scores (ALiBi) in place of positions, and feed-forwards may have gates.
#include <string>

#include <fmt/format.h>

#include "pippin/models/config/common.h"
#include "pippin/models/encoders.h"

namespace pippin::models {
namespace {

// The feed-forward's form under its two names, "original" without a gate.
void set_feed_forward(const Config& config, nn::MLPOptions& mlp) {
  const std::string kind = config.text("feed_forward_type", "original");
  mlp.gated = kind != "original";
  if (!mlp.gated) return;
  if (kind == "geglu") {
    mlp.activation = nn::Activation::Gelu;
  } else if (kind == "reglu") {
    mlp.activation = nn::Activation::Relu;
  } else {
    config.unsupported("feed_forward_type",
                       fmt::format("'{}' is not supported (known: original, geglu, reglu)", kind));
  }
  mlp.fused = true;
  mlp.bias = false;
  mlp.down_bias = true;
}

void name_plain_parts(nn::LayerOptions& layer) {
  nn::MLPOptions& mlp = layer.mlp();
  if (!mlp.gated) return;  // as BERT has it
  layer.mlp_path = "mlp";
  layer.mlp_norm = "mlp.layernorm";
  mlp.gate = "gated_layers";
  mlp.down = "wo";
}

// The models of code and the rerankers: norms of queries and keys, and another norm of the sum
// after attention.
void add_norms(nn::LayerOptions& layer) {
  layer.attention_second_norm = "layer_norm_1";
  layer.mlp_norm = "layer_norm_2";
  layer.mlp_path = "mlp";
  nn::MLPOptions& mlp = layer.mlp();
  mlp.up_first = true;
  mlp.gate = "up_gated_layer";
  mlp.up = "up_layer";
  mlp.down = "down_layer";
  layer.attention().qk_norm = {.place = nn::QkNorm::Place::Projection,
                               .norm = layer.norm,
                               .query = "self.layer_norm_q",
                               .key = "self.layer_norm_k"};
}

}  // namespace

EncoderDescription jina_bert(const Config& config) {
  const std::string positions = config.text("position_embedding_type", "absolute");
  if (positions != "alibi" && positions != "absolute") {
    config.unsupported("position_embedding_type",
                       fmt::format("'{}' is not supported (known: alibi, absolute)", positions));
  }
  EncoderDescription model = bert_like(config);
  nn::EncoderOptions& encoder = model.encoder;
  if (positions == "alibi") {
    encoder.positions.reset();
    encoder.alibi = nn::AlibiOptions{nn::alibi_slopes(encoder.layers.at(0).attention().num_heads)};
  }
  for (nn::LayerOptions& layer : encoder.layers) set_feed_forward(config, layer.mlp());
  std::vector<nn::LayerOptions> normed = encoder.layers;
  for (nn::LayerOptions& layer : normed) add_norms(layer);
  for (nn::LayerOptions& layer : encoder.layers) name_plain_parts(layer);
  // No key tells the two forms apart, except in configurations that were made of a GGUF.
  const auto known = config.find("qk_norm");
  if (!known) {
    encoder.variant = {.tensor = "attention.self.layer_norm_q.weight", .layers = normed};
  } else if (known->as_bool()) {
    encoder.layers = normed;
  }
  return model;
}

}  // namespace pippin::models
