// Nomic BERT (Nussbaum et al. 2024): BERT with rotary positions and SwiGLU, with GPT-2's names of
// sizes.
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "pippin/models/config/common.h"
#include "pippin/models/config/rope_settings.h"
#include "pippin/models/encoders.h"

namespace pippin::models {
namespace {

void require_text(const Config& config, std::string_view key, std::string_view only) {
  const std::string text = config.text(key, only);
  if (text == only) return;
  config.unsupported(key, fmt::format("'{}' is not supported (known: {})", text, only));
}

// The class rounds n_inner up to a multiple of 256.
int64_t inner_width(const Config& config, int64_t width) {
  constexpr int64_t kMultiple = 256;
  const int64_t inner = config.size("n_inner", 4 * width);
  return (inner + kMultiple - 1) / kMultiple * kMultiple;
}

}  // namespace

EncoderDescription nomic_bert(const Config& given) {
  Config config = given;
  // The class of transformers 5 uses BERT's names of sizes; its feed-forward has the given width,
  // and no projection has a bias.
  const bool plain = !config.contains("n_embd") && !config.contains("n_inner");
  config.alias("hidden_size", "n_embd");
  config.alias("num_attention_heads", "n_head");
  config.alias("num_hidden_layers", "n_layer");
  config.alias("max_position_embeddings", "n_positions");
  config.alias("layer_norm_eps", "layer_norm_epsilon");
  require_text(config, "activation_function", "swiglu");
  config.require_flag("prenorm", false, false);
  config.require_flag("parallel_block", false, false);
  config.require_flag("causal", false, false);
  config.require_flag("use_rms_norm", false, false);
  config.require_flag("rotary_emb_interleaved", false, false);
  config.require_absent("rotary_emb_scale_base");
  config.require_absent("num_experts");
  EncoderDescription model = bert_like(config);
  nn::EncoderOptions& encoder = model.encoder;
  // The table is padded, and the configuration may have the size before or after padding.
  const int64_t multiple = config.size("pad_vocab_size_multiple", 1);
  encoder.vocab_size = (encoder.vocab_size + multiple - 1) / multiple * multiple;
  encoder.positions.reset();
  encoder.embedding_norm = "emb_ln";
  encoder.layers_path = "encoder.layers";
  const int64_t head_dim = encoder.layers.at(0).attention().head_dim;
  if (config.size("head_dim", head_dim, kMaxHeadDim) != head_dim) {
    config.unsupported("head_dim", "one that is not hidden_size / num_attention_heads");
  }
  const double fraction =
      RopeSettings(config).rotary_factor(config.number("rotary_emb_fraction", 1.0));
  const auto dims = static_cast<int64_t>(static_cast<double>(head_dim) * fraction);
  if (dims < 2 || dims % 2 != 0 || dims > head_dim) {
    config.invalid("rotary_emb_fraction", fmt::format("turns {} of {} dimensions", dims, head_dim));
  }
  const double base = config.number("rotary_emb_base", 10000.0);
  nn::RopeOptions rope = rope_options(config, dims, {.theta = base, .rotary_factor = fraction});
  // The class uses frequencies that grow with the text once that is longer than the trained length.
  if (const auto factor = config.find_number("rotary_scaling_factor")) {
    rope.scaling.kind = nn::RopeScaling::Kind::Dynamic;
    rope.scaling.factor = *factor;
    rope.scaling.original_context = config.size("max_trained_positions", 2048, kMaxContext);
  }
  encoder.ropes = {rope};
  for (nn::LayerOptions& layer : encoder.layers) {
    layer.attention_path = "attn";
    layer.attention_norm = "norm1";
    layer.mlp_norm = "norm2";
    nn::AttentionOptions& attention = layer.attention();
    attention.layout = nn::QkvLayout::Blocks;
    attention.qkv = "Wqkv";
    attention.output = "out_proj";
    attention.qkv_bias = attention.output_bias = config.flag("qkv_proj_bias", !plain);
    attention.rope = 0;
    attention.rope_dims = dims;
    layer.mlp_path = "mlp";
    nn::MLPOptions& mlp = layer.mlp();
    mlp.gated = true;
    mlp.bias = config.flag("mlp_fc1_bias", !plain);
    mlp.activation = plain ? config.activation("hidden_act", "silu") : nn::Activation::Silu;
    mlp.gate = "fc12";
    mlp.up = "fc11";
    mlp.down = "fc2";
    if (!plain) mlp.hidden_features = inner_width(config, encoder.hidden_size);
  }
  if (config.flag("mlp_fc2_bias", !plain) != config.flag("mlp_fc1_bias", !plain)) {
    config.unsupported("mlp_fc2_bias", "one other than mlp_fc1_bias is not supported");
  }
  return model;
}

}  // namespace pippin::models
