// Whisper (Radford et al. 2022), also Distil-Whisper: BART's layers behind two convolutions over
// the frames of a spectrogram. Keys have no biases, and a source has a fixed length.
#include <string>

#include <fmt/format.h>

#include "pippin/models/config/common.h"
#include "pippin/models/encoders/bart_layers.h"
#include "pippin/models/encoders/encoder_decoder_description.h"
#include "pippin/models/gguf/gguf.h"

namespace pippin::models {
namespace {

constexpr BartHalf kReads = {.layers = 4, .heads = 6, .inner = 1536, .context = 1500};
constexpr BartHalf kWrites = {.layers = 4, .heads = 6, .inner = 1536, .context = 448};
constexpr int64_t kMaxBins = 1024;

nn::LayerOptions layer_of(const Config& config, const BartHalf& half, int64_t width) {
  nn::LayerOptions layer = bart_layer(config, half, width, /*norm_first=*/true, "gelu");
  layer.attention().key_bias = false;
  return layer;
}

// Two convolutions; the second one halves the number of frames.
nn::FeatureStemOptions stem_of(const Config& config, int64_t positions, int64_t width) {
  nn::FeatureStemOptions stem;
  stem.inputs = config.size("num_mel_bins", 80, kMaxBins);
  stem.frames = 2 * positions;
  const nn::Activation activation = config.activation("activation_function", "gelu");
  stem.convolutions = {{.path = "conv1", .outputs = width, .activation = activation},
                       {.path = "conv2", .outputs = width, .stride = 2, .activation = activation}};
  return stem;
}

}  // namespace

EncoderDecoderDescription whisper_encoder_decoder(const Config& config) {
  const BartHalf read = bart_half(config, "encoder", "max_source_positions", kReads);
  const BartHalf written = bart_half(config, "decoder", "max_target_positions", kWrites);
  const int64_t width = config.size("d_model", 384);
  config.ignore({"is_encoder_decoder"});
  config.require_flag("scale_embedding", false, false);
  const bool is_packed = !config.text(kGgufKey, "").empty();
  EncoderDecoderDescription model;
  model.vocab_size = config.size("vocab_size", 51865);
  model.width = width;
  model.context = model.usual_context = written.context;
  model.start = config.json().get_int_or("decoder_start_token_id", 50257);

  nn::EncoderOptions& encoder = model.encoder;
  const nn::LayerOptions layer = layer_of(config, read, width);
  encoder.hidden_size = width;
  if (is_packed) encoder.packed = nn::gguf_weights();
  encoder.context = read.context;
  encoder.bases = {"model.encoder"};
  encoder.stem = stem_of(config, read.context, width);
  encoder.positions = nn::LearnedPositions{.path = "embed_positions",
                                           .rows = read.context,
                                           .sinusoids = nn::LearnedPositions::Sinusoids::Whole};
  encoder.norm = layer.norm;
  encoder.final_norm = "layer_norm";
  encoder.layers_path = "layers";
  encoder.layers.assign(static_cast<size_t>(read.layers), layer);
  for (nn::LayerOptions& own : encoder.layers) own.attention_path = "self_attn";

  model.base = "model.decoder";
  model.embedding = "model.decoder.embed_tokens";
  model.positions = nn::LearnedPositions{.path = "embed_positions", .rows = written.context};
  model.norm = layer.norm;
  model.final_norm = "layer_norm";
  model.layers = bart_decoder_layers(layer_of(config, written, width), written.layers);
  model.head = "proj_out";
  model.tied = config.flag("tie_word_embeddings", true);
  if (model.tied) model.unused.emplace_back("proj_out.");
  return model;
}

}  // namespace pippin::models
