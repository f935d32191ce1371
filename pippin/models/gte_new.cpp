// GTE 1.5 and mGTE (Zhang et al. 2024), whose model_type is "new": BERT with rotary positions and a
// gated feed-forward, one matrix for q, k and v.
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "pippin/models/config/common.h"
#include "pippin/models/encoders.h"

namespace pippin::models {
namespace {

// rope_scaling of the type "ntk": theta grows with the factor, and each frequency falls, regardless
// of the length.
void scale_rope(const Config& config, const Json& given, nn::RopeOptions& rope) {
  const Config scaling(given);
  const std::string kind = scaling.text("type", "");
  if (kind != "ntk") {
    scaling.unsupported("type", fmt::format("'{}' is not supported (known: ntk)", kind));
  }
  scaling.require_absent("mixed_b");
  const auto factor = scaling.find_number("factor");
  if (!factor) scaling.invalid("factor", "missing");
  if (*factor <= 1) return;
  rope.theta *= *factor;
  rope.scaling.kind = nn::RopeScaling::Kind::Linear;
  rope.scaling.factor = std::pow(*factor, 2 / static_cast<double>(rope.dims));
  config.ignore({"rope_scaling"});
}

}  // namespace

EncoderDescription gte_new(const Config& config) {
  const std::string positions = config.text("position_embedding_type", "rope");
  if (positions != "rope" && positions != "absolute") {
    config.unsupported("position_embedding_type",
                       fmt::format("'{}' is not supported (known: rope, absolute)", positions));
  }
  const std::string norm = config.text("layer_norm_type", "layer_norm");
  if (norm != "layer_norm" && norm != "rms_norm") {
    config.unsupported("layer_norm_type",
                       fmt::format("'{}' is not supported (known: layer_norm, rms_norm)", norm));
  }
  config.require_flag("logn_attention_scale", false, false);
  EncoderDescription model =
      bert_like(config, {.vocab_size = 30528, .context = 2048, .token_types = 1});
  nn::EncoderOptions& encoder = model.encoder;
  encoder.bases = {"new", ""};
  if (norm == "rms_norm") {
    encoder.norm.kind = nn::NormOptions::Kind::RMS;
    encoder.norm.bias = false;
  }
  const int64_t head_dim = encoder.layers.at(0).attention().head_dim;
  if (positions == "rope") {
    if (head_dim % 2 != 0) {
      config.invalid("num_attention_heads",
                     fmt::format("heads of {}: rotary positions rotate pairs", head_dim));
    }
    encoder.positions.reset();
    nn::RopeOptions rope{.dims = head_dim, .theta = config.number("rope_theta", 10000.0)};
    if (const auto scaling = config.find("rope_scaling")) scale_rope(config, *scaling, rope);
    encoder.ropes = {rope};
  }
  const bool packed = config.flag("pack_qkv", true);
  for (nn::LayerOptions& layer : encoder.layers) {
    layer.norm = encoder.norm;
    layer.attention_norm = "attn_ln";
    layer.mlp_norm = "mlp_ln";
    layer.attention_path = "attention";
    nn::AttentionOptions& attention = layer.attention();
    if (packed) attention.layout = nn::QkvLayout::Blocks;
    attention.query = "q_proj";
    attention.key = "k_proj";
    attention.value = "v_proj";
    attention.qkv = "qkv_proj";
    attention.output = "o_proj";
    if (positions == "rope") attention.rope = 0;
    attention.rope_dims = head_dim;
    layer.mlp_path = "mlp";
    nn::MLPOptions& mlp = layer.mlp();
    mlp.gated = mlp.fused = mlp.up_first = true;
    mlp.bias = false;
    mlp.down_bias = true;
    mlp.gate = "up_gate_proj";
    mlp.down = "down_proj";
  }
  model.language_head = bert_language_head(config, encoder, "lm_head", "lm_head.decoder");
  model.language_head->norm.name = "lm_head.norm";
  return model;
}

}  // namespace pippin::models
