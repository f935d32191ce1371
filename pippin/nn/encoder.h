// An encoder: from the ids of whole texts to a state for each token, several texts at once.
//
// Its layers are those of nn/layer.h, without a cache: what a query may see is all of its text,
// only what stands before it (a causal model that embeds texts), or what lies within a window.
// EncoderOptions says what the architectures differ in; a file of models/ fills it. Paths are names
// in the checkpoint below `bases`, those of a layer's parts below the layer.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pippin/array/array.h"
#include "pippin/nn/attention/relative_bias.h"
#include "pippin/nn/decoder.h"
#include "pippin/nn/layer.h"
#include "pippin/nn/layers/linear.h"
#include "pippin/nn/layers/norm.h"
#include "pippin/nn/layers/rope.h"
#include "pippin/nn/weights/packed_weights.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

struct EncoderOptions {
  int64_t vocab_size = 0;
  int64_t hidden_size = 0;
  int64_t context = 0;  // the most tokens of a text
  // Where the checkpoint may have the rest, the first that has the embedding counts.
  std::vector<std::string> bases = {""};
  std::string embedding = "embeddings.word_embeddings";
  int64_t embedding_size = 0;  // where it is not hidden_size: `projection`, with a bias, follows
  std::string projection;
  double embedding_scale = 1.0;
  std::string token_types;  // a table of `num_token_types` rows; an empty name: none
  int64_t num_token_types = 0;
  bool several_token_types = false;  // they are an input; else all tokens have type 0
  std::optional<LearnedPositions> positions;
  // Positions count tokens that are not this one, which has position 0 (RoBERTa).
  std::optional<int32_t> uncounted;
  NormOptions norm;                        // of the two that follow
  std::string embedding_norm, final_norm;  // empty names: none
  std::vector<RopeOptions> ropes;          // which AttentionOptions::rope names
  std::string layers_path = "encoder.layer";
  std::vector<LayerOptions> layers;
  // Queries see what stands before them; an attention's window is then one of keys before the query
  // and itself. Else it is of the keys on each side.
  bool causal = false;
  std::optional<RelativeBiasOptions> relative_bias;
  bool relative_bias_of_layers = false;  // its path is below each layer, else below the base
  // DeBERTa's: its rows, where it is, and the norm that it goes through.
  int64_t relative_rows = 0;
  std::string relative_embedding, relative_norm;
  NormOptions relative_norm_options;
  std::shared_ptr<const PackedWeights> packed;  // matrices that lie packed; null: none
  std::vector<std::string> unused;  // beginnings of names below the base that nothing needs
};

// Those of a decoder that gives the states behind its head; `causal` is set. Throws Unsupported for
// what an encoder has no form for.
EncoderOptions as_encoder(const DecoderOptions& decoder);

// What the texts of a pass are: int32 (batch, length) all of them.
struct EncoderInput {
  array::Array ids;
  array::Array mask;                        // 1 for tokens, 0 for what fills up a row
  std::optional<array::Array> token_types;  // null: all are 0
};

class Encoder {
 public:
  Encoder(const Parameters& parameters, const EncoderOptions& options, int64_t context);

  // The states (batch, length, hidden_size).
  array::Array operator()(const EncoderInput& input) const;
  const EncoderOptions& options() const { return options_; }
  // The part of the checkpoint that has the encoder.
  const Parameters& root() const { return root_; }
  // Throws InvalidFile for a tensor of the encoder that no module asked for. What belongs to heads
  // of other tasks is let pass.
  void check_all_used() const;

 private:
  array::Array embed(const EncoderInput& input) const;
  array::Array positions_of(const array::Array& ids, const mil::Dim& length) const;

  EncoderOptions options_;
  Parameters root_;
  std::vector<Rope> ropes_;
  std::optional<Embedding> embedding_, token_types_, positions_;
  std::optional<Norm> embedding_norm_, final_norm_;
  std::optional<Linear> projection_;
  std::optional<array::Array> relative_;
  std::vector<RelativeBias> biases_;  // one for all layers, or one for each
  std::vector<DecoderLayer> layers_;
};

}  // namespace pippin::nn
