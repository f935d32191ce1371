// Descriptions of encoder–decoder models, read from configurations: one function for each lineage,
// in the file of its name; encoder_decoder_description.cpp selects it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pippin/models/config/config.h"
#include "pippin/nn/attention/relative_bias.h"
#include "pippin/nn/decoder.h"
#include "pippin/nn/encoder.h"
#include "pippin/nn/layer.h"

namespace pippin::models {

struct EncoderDecoderDescription {
  nn::EncoderOptions encoder;
  int64_t vocab_size = 0, width = 0;
  // The most tokens of the source, unless it is a recording, and of the target.
  int64_t context = 0;
  int64_t usual_context = 512;  // if none is asked for, as far as `context` allows
  int64_t start = 0;            // the token that the decoder begins with
  // The first token of the target, regardless of its logits (forced_bos_token_id).
  std::optional<int64_t> first;

  // The decoder. Its parts are under `base`; its token table and head are at the top level.
  std::string base = "decoder", embedding = "shared";
  bool embedding_of_encoder = false;  // the encoder's table, in place of `embedding`
  double embedding_scale = 1.0;
  std::optional<nn::TokenVector> own_vector;
  std::optional<nn::LearnedPositions> positions;
  nn::NormOptions norm;                    // of the next two
  std::string embedding_norm, final_norm;  // empty names: none
  // Of the encoder's states, before the decoder attends to them, both below `base`: positions that
  // are added, and a matrix to `width`; an empty name: none.
  std::optional<nn::LearnedPositions> source_positions;
  std::string source_projection;
  std::string layers_path = "layers";
  // Both attentions and the feed-forward of a layer, as two layers of nn/layer.h.
  struct Layer {
    nn::LayerOptions own, across;
  };
  std::vector<Layer> layers;
  // One attention sees earlier tokens and the source: `own` is the whole layer, and its matrices
  // also project the source.
  bool merged = false;
  std::optional<nn::RelativeBiasOptions> bias;  // below a layer
  bool bias_of_each_layer = false;              // else that of the first one
  std::vector<nn::RopeOptions> ropes;

  std::string head = "lm_head";
  bool tied = true;         // the head is the embedding
  double head_scale = 1.0;  // of the head's input
  std::string head_bias;    // a tensor (1, vocabulary); an empty name: none
  std::optional<double> softcap;
  std::vector<std::string> unused;  // prefixes of unused names

  // Heads whose attention to the source tells where a token is in it: layer and head, in the order
  // of the layers. For recordings of a fixed length only.
  std::vector<std::pair<int64_t, int64_t>> alignment_heads;
  // Those of a layer.
  std::vector<int64_t> alignment_heads_of(int64_t layer) const;

  // Whether sources are recordings, and all of one length.
  bool hears() const { return encoder.stem.has_value(); }
  bool has_fixed_source() const { return hears() && encoder.stem->is_fixed(); }
};

bool is_encoder_decoder_type(std::string_view model_type);
// Throws Unsupported for an unknown model_type.
EncoderDecoderDescription describe_encoder_decoder(const Config& config);

EncoderDecoderDescription bart_encoder_decoder(const Config& config);
EncoderDecoderDescription moonshine_encoder_decoder(const Config& config);
EncoderDecoderDescription moonshine_streaming_encoder_decoder(const Config& config);
EncoderDecoderDescription t5_encoder_decoder(const Config& config);
EncoderDecoderDescription t5gemma_encoder_decoder(const Config& config);
EncoderDecoderDescription whisper_encoder_decoder(const Config& config);
EncoderDecoderDescription t5gemma2_encoder_decoder(const Config& config);

}  // namespace pippin::models
