// BART (Lewis et al. 2019) and its lineage: mBART, Marian, Pegasus, M2M-100 and NLLB, Blenderbot,
// LED. They differ in the places of norms and in their positions.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "pippin/models/config/common.h"
#include "pippin/models/encoders.h"
#include "pippin/models/encoders/encoder_decoder_description.h"

namespace pippin::models {
namespace {

using Sinusoids = nn::LearnedPositions::Sinusoids;

// The differences between the members of the lineage.
struct Variant {
  std::string_view type;
  bool norm_first;          // before the blocks, and once at the end of both
  bool norm_of_embeddings;  // after the embedding
  int64_t offset;           // of learned positions
  Sinusoids sinusoids = Sinusoids::None;
  bool counts_tokens = false;  // positions count tokens that are not padding, from one more than it
};
constexpr Variant kVariants[] = {
    {"bart", false, true, 2},
    {"blenderbot", true, false, 0},
    {"led", false, true, 0},
    {"m2m_100", true, false, 0, Sinusoids::Whole, true},
    {"marian", false, false, 0, Sinusoids::Open},
    {"mbart", true, true, 2},
    {"pegasus", true, false, 0, Sinusoids::Open},
};

const Variant& variant_of(const Config& config) {
  const std::string type = config.text("model_type", "");
  for (const Variant& variant : kVariants) {
    if (variant.type == type) return variant;
  }
  config.unsupported("model_type", fmt::format("'{}' is not of BART's lineage", type));
}

struct Half {
  int64_t layers, heads, inner, context;
};

Half half_of(const Config& config, const std::string& side, const char* positions) {
  return {.layers = config.size(side + "_layers", 12, kMaxLayers),
          .heads = config.size(side + "_attention_heads", 16, kMaxHeads),
          .inner = config.size(side + "_ffn_dim", 4096),
          .context = config.size(positions, 1024, kMaxContext)};
}

nn::LayerOptions layer_of(const Config& config, const Variant& variant, const Half& half,
                          int64_t width) {
  nn::LayerOptions layer;
  layer.form =
      variant.norm_first ? nn::LayerOptions::Form::Serial : nn::LayerOptions::Form::NormAfter;
  layer.features = width;
  layer.norm = {.kind = nn::NormOptions::Kind::Layer, .epsilon = 1e-5, .bias = true};
  layer.attention_norm = "self_attn_layer_norm";
  layer.mlp_norm = "final_layer_norm";
  nn::AttentionOptions& attention = layer.attention();
  attention.features = width;
  attention.num_heads = attention.num_kv_heads = half.heads;
  config.require_multiple("d_model", width, "attention heads", half.heads);
  attention.head_dim = width / half.heads;
  attention.qkv_bias = attention.output_bias = true;
  attention.output = "out_proj";
  layer.mlp_path.clear();
  nn::MLPOptions& mlp = layer.mlp();
  mlp.features = width;
  mlp.hidden_features = half.inner;
  mlp.activation = config.activation("activation_function", "gelu");
  mlp.gated = false;
  mlp.bias = true;
  mlp.up = "fc1";
  mlp.down = "fc2";
  return layer;
}

// LED's encoder sees half of a window on each side; no token is global.
void use_windows(const Config& config, nn::EncoderOptions& encoder) {
  const std::vector<double> windows =
      config.numbers("attention_window", std::ssize(encoder.layers), 512);
  for (size_t i = 0; i < encoder.layers.size(); ++i) {
    const auto window = static_cast<int64_t>(windows[i]);
    if (window < 2 || window % 2 != 0 || window > kMaxContext) {
      config.invalid("attention_window", fmt::format("{} is not an even number", windows[i]));
    }
    nn::AttentionOptions& attention = encoder.layers[i].attention();
    attention.window = window / 2;
    attention.query = "longformer_self_attn.query";
    attention.key = "longformer_self_attn.key";
    attention.value = "longformer_self_attn.value";
    attention.output = "output";
  }
}

std::optional<nn::LearnedPositions> positions_of(const Config& config, const Variant& variant,
                                                 const std::string& path, int64_t context) {
  nn::LearnedPositions positions{.path = path,
                                 .rows = context + variant.offset,
                                 .offset = variant.offset,
                                 .sinusoids = variant.sinusoids};
  if (variant.counts_tokens) positions.offset = config.json().get_int_or("pad_token_id", 1) + 1;
  return positions;
}

}  // namespace

EncoderDecoderDescription bart_encoder_decoder(const Config& config) {
  const Variant& variant = variant_of(config);
  const bool is_led = variant.type == "led";
  const Half read = half_of(config, "encoder",
                            is_led ? "max_encoder_position_embeddings" : "max_position_embeddings");
  const Half written = half_of(
      config, "decoder", is_led ? "max_decoder_position_embeddings" : "max_position_embeddings");
  const int64_t width = config.size("d_model", 1024);
  const std::string base = is_led ? "led" : "model";
  config.ignore({"is_encoder_decoder", "static_position_embeddings"});
  if (!config.flag("share_encoder_decoder_embeddings", true)) {
    config.unsupported("share_encoder_decoder_embeddings", "false is not supported");
  }
  EncoderDecoderDescription model;
  model.vocab_size = config.size("vocab_size", 50265);
  if (config.size("decoder_vocab_size", model.vocab_size) != model.vocab_size) {
    config.unsupported("decoder_vocab_size", "values other than vocab_size are not supported");
  }
  model.width = width;
  model.context = std::min(read.context, written.context);
  model.start = config.json().get_int_or("decoder_start_token_id", 2);
  model.first = config.json().find_int("forced_bos_token_id");
  const bool scaled = config.flag("scale_embedding", variant.type == "m2m_100");
  model.embedding_scale = scaled ? std::sqrt(static_cast<double>(width)) : 1.0;

  nn::EncoderOptions& encoder = model.encoder;
  const nn::LayerOptions layer = layer_of(config, variant, read, width);
  encoder.vocab_size = model.vocab_size;
  encoder.hidden_size = width;
  encoder.context = read.context;
  encoder.bases = {base, ""};
  encoder.embedding = "shared";
  encoder.embedding_scale = model.embedding_scale;
  encoder.positions = positions_of(config, variant, "encoder.embed_positions", read.context);
  if (variant.counts_tokens) {
    encoder.uncounted = static_cast<int32_t>(encoder.positions->offset - 1);
    encoder.positions->offset -= 1;
  }
  encoder.norm = layer.norm;
  if (variant.norm_of_embeddings) encoder.embedding_norm = "encoder.layernorm_embedding";
  if (variant.norm_first) encoder.final_norm = "encoder.layer_norm";
  encoder.layers_path = "encoder.layers";
  encoder.layers.assign(static_cast<size_t>(read.layers), layer);
  for (nn::LayerOptions& own : encoder.layers) own.attention_path = "self_attn";
  if (is_led) use_windows(config, encoder);

  model.base = base + ".decoder";
  model.embedding = base + ".shared";
  model.positions = positions_of(config, variant, "embed_positions", written.context);
  model.norm = layer.norm;
  if (variant.norm_of_embeddings) model.embedding_norm = "layernorm_embedding";
  if (variant.norm_first) model.final_norm = "layer_norm";
  for (int64_t i = 0; i < written.layers; ++i) {
    auto& [own, across] = model.layers.emplace_back();
    own = across = layer_of(config, variant, written, width);
    own.attention_path = "self_attn";
    own.mlp_norm.clear();
    own.feed_forward = nn::NoFeedForwardOptions{};
    across.attention_path = "encoder_attn";
    across.attention_norm = "encoder_attn_layer_norm";
    across.attention().keys_of = i;
  }
  model.tied = config.flag("tie_word_embeddings", true);
  if (variant.type != "m2m_100") model.head_bias = "final_logits_bias";
  // Copies of the embedding, tables of sines, and tensors for LED's global tokens only.
  model.unused = {base + ".encoder.embed_tokens.", base + ".decoder.embed_tokens."};
  if (model.tied) model.unused.emplace_back("lm_head.");
  if (variant.sinusoids != Sinusoids::None) {
    model.unused.push_back(base + ".encoder.embed_positions.");
    model.unused.push_back(base + ".decoder.embed_positions.");
  }
  if (is_led) {
    for (int64_t i = 0; i < read.layers; ++i) {
      for (const char* part : {"query", "key", "value"}) {
        model.unused.push_back(fmt::format(
            "{}.encoder.layers.{}.self_attn.longformer_self_attn.{}_global.", base, i, part));
      }
    }
  }
  return model;
}

EncoderDescription bart_encoder(const Config& config) {
  const EncoderDecoderDescription whole = bart_encoder_decoder(config);
  EncoderDescription model;
  model.encoder = whole.encoder;
  model.encoder.unused = {"encoder.embed_tokens.", "encoder.embed_positions."};
  return model;
}

}  // namespace pippin::models
