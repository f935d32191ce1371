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
#include "pippin/models/encoders/bart_layers.h"
#include "pippin/models/encoders/encoder_decoder_description.h"

namespace pippin::models {
namespace {

using Sinusoids = nn::LearnedPositions::Sinusoids;

// The differences between the members of the lineage, and the defaults of their classes.
struct Variant {
  std::string_view type;
  bool norm_first = false;          // before the blocks, and once at the end of both
  bool norm_of_embeddings = false;  // after the embedding
  int64_t offset = 0;               // of learned positions
  Sinusoids sinusoids = Sinusoids::None;
  bool counts_tokens = false;  // positions count tokens that are not padding, from one more than it
  bool scaled = false;         // scale_embedding
  int64_t vocab_size = 50265, width = 1024;
  int64_t start = 2;  // decoder_start_token_id
  std::string_view activation = "gelu";
  BartHalf read = {}, written = {};
};
constexpr Variant kVariants[] = {
    {.type = "bart", .norm_of_embeddings = true, .offset = 2},
    {.type = "blenderbot",
     .norm_first = true,
     .vocab_size = 8008,
     .width = 2560,
     .start = 1,
     .read = {.layers = 2, .heads = 32, .inner = 10240, .context = 128},
     .written = {.layers = 24, .heads = 32, .inner = 10240, .context = 128}},
    {.type = "led", .norm_of_embeddings = true, .read = {.context = 16384}},
    {.type = "m2m_100",
     .norm_first = true,
     .sinusoids = Sinusoids::Whole,
     .counts_tokens = true,
     .scaled = true,
     .vocab_size = 128112,
     .activation = "relu"},
    {.type = "marian", .sinusoids = Sinusoids::Open, .vocab_size = 58101, .start = 58100},
    {.type = "mbart", .norm_first = true, .norm_of_embeddings = true, .offset = 2},
    {.type = "pegasus", .norm_first = true, .sinusoids = Sinusoids::Open, .start = 0},
};

const Variant& variant_of(const Config& config) {
  const std::string type = config.text("model_type", "");
  for (const Variant& variant : kVariants) {
    if (variant.type == type) return variant;
  }
  config.unsupported("model_type", fmt::format("'{}' is not of BART's lineage", type));
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

int64_t padding_token(const Config& config, const Variant& variant) {
  const int64_t token = config.json().get_int_or("pad_token_id", 1);
  const int64_t count = config.size("vocab_size", variant.vocab_size);
  if (token < 0 || token >= count) {
    config.invalid("pad_token_id", fmt::format("{} is not one of {} tokens", token, count));
  }
  return token;
}

std::optional<nn::LearnedPositions> positions_of(const Config& config, const Variant& variant,
                                                 const std::string& path, int64_t context) {
  nn::LearnedPositions positions{.path = path,
                                 .rows = context + variant.offset,
                                 .offset = variant.offset,
                                 .sinusoids = variant.sinusoids};
  if (variant.counts_tokens) positions.offset = padding_token(config, variant) + 1;
  return positions;
}

}  // namespace

EncoderDecoderDescription bart_encoder_decoder(const Config& config) {
  const Variant& variant = variant_of(config);
  const bool is_led = variant.type == "led";
  const BartHalf read = bart_half(
      config, "encoder", is_led ? "max_encoder_position_embeddings" : "max_position_embeddings",
      variant.read);
  const BartHalf written = bart_half(
      config, "decoder", is_led ? "max_decoder_position_embeddings" : "max_position_embeddings",
      variant.written);
  const int64_t width = config.size("d_model", variant.width);
  const std::string base = is_led ? "led" : "model";
  config.ignore({"is_encoder_decoder", "static_position_embeddings"});
  if (!config.flag("share_encoder_decoder_embeddings", true)) {
    config.unsupported("share_encoder_decoder_embeddings", "false is not supported");
  }
  if (variant.sinusoids != Sinusoids::None && width % 2 != 0) {
    config.unsupported("d_model", fmt::format("{} is odd: positions have pairs", width));
  }
  EncoderDecoderDescription model;
  model.vocab_size = config.size("vocab_size", variant.vocab_size);
  if (config.size("decoder_vocab_size", model.vocab_size) != model.vocab_size) {
    config.unsupported("decoder_vocab_size", "values other than vocab_size are not supported");
  }
  model.width = width;
  model.context = std::min(read.context, written.context);
  model.start = config.json().get_int_or("decoder_start_token_id", variant.start);
  model.first = config.json().find_int("forced_bos_token_id");
  const bool scaled = config.flag("scale_embedding", variant.scaled);
  model.embedding_scale = scaled ? std::sqrt(static_cast<double>(width)) : 1.0;

  nn::EncoderOptions& encoder = model.encoder;
  const nn::LayerOptions layer =
      bart_layer(config, read, width, variant.norm_first, variant.activation);
  encoder.vocab_size = model.vocab_size;
  encoder.hidden_size = width;
  encoder.context = read.context;
  encoder.bases = {base, ""};
  encoder.embedding = "shared";
  encoder.embedding_scale = model.embedding_scale;
  encoder.positions = positions_of(config, variant, "encoder.embed_positions", read.context);
  if (variant.counts_tokens) {
    encoder.uncounted = static_cast<int32_t>(padding_token(config, variant));
    encoder.positions->offset = *encoder.uncounted;
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
  model.layers = bart_decoder_layers(
      bart_layer(config, written, width, variant.norm_first, variant.activation), written.layers);
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
