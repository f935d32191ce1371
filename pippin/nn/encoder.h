// An encoder: from the ids of whole texts to a state for each token, several texts at once; or from
// the features of a recording to states.
//
// Its layers are those of nn/layer.h, without a cache: a query sees all of its text, only the
// tokens before it (a causal model that embeds texts), or the tokens within a window.
// EncoderOptions describes the differences between architectures; a file of models/ fills it. Paths
// are names in the checkpoint below `bases`, those of a layer's parts below the layer.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pippin/array/array.h"
#include "pippin/nn/attention/alibi.h"
#include "pippin/nn/attention/relative_bias.h"
#include "pippin/nn/decoder.h"
#include "pippin/nn/layer.h"
#include "pippin/nn/layers/feature_stem.h"
#include "pippin/nn/layers/linear.h"
#include "pippin/nn/layers/norm.h"
#include "pippin/nn/layers/rope.h"
#include "pippin/nn/layers/token_convolution.h"
#include "pippin/nn/weights/packed_weights.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

// The embedding of a masked token is 0, and the others of its text are scaled as if `share` of the
// tokens were masked (ESM).
struct TokenDropout {
  int32_t token = 0;
  double share = 0;
};

// The embedding of one token is a vector apart, which is not scaled (T5Gemma 2).
struct TokenVector {
  std::string name;  // below the path of the embedding
  int32_t token = 0;

  // The embedded tokens x with that vector.
  array::Array put(const array::Array& x, const array::Array& ids,
                   const Parameters& embedding) const;
};

struct EncoderOptions {
  int64_t vocab_size = 0;
  int64_t hidden_size = 0;
  int64_t context = 0;  // largest number of tokens of a text
  // Possible prefixes of the paths in the checkpoint: the first one that has the embedding or the
  // stem.
  std::vector<std::string> bases = {""};
  std::optional<FeatureStemOptions> stem;  // in place of the embedding
  std::string embedding = "embeddings.word_embeddings";
  int64_t embedding_size = 0;  // if not hidden_size: `projection`, with a bias, follows
  std::string projection;
  double embedding_scale = 1.0;
  std::optional<TokenVector> own_vector;
  std::string token_types;  // a table of `num_token_types` rows; an empty name: none
  int64_t num_token_types = 0;
  bool several_token_types = false;  // they are an input; else all tokens have type 0
  std::string task_types;            // a table of `num_task_types` rows, which are an input (ERNIE)
  int64_t num_task_types = 0;
  std::optional<TokenDropout> token_dropout;
  std::optional<LearnedPositions> positions;
  // This token has position 0 and does not count in the positions of others (RoBERTa).
  std::optional<int32_t> uncounted;
  NormOptions norm;                        // for the following two
  std::string embedding_norm, final_norm;  // empty names: none
  std::vector<RopeOptions> ropes;          // which AttentionOptions::rope names
  // The rope's table in the checkpoint, if any: its sines, then its cosines, by position
  // (RoFormer).
  std::string rope_table;
  std::string layers_path = "encoder.layer";
  std::vector<LayerOptions> layers;
  // Queries see the tokens before them; an attention's window is then that many keys up to the
  // query. Otherwise it is the number of keys before a query, and after it unless window_after
  // says.
  bool causal = false;
  std::optional<AlibiOptions> alibi;  // lowers scores by the distance on either side
  std::optional<RelativeBiasOptions> relative_bias;
  bool relative_bias_of_layers = false;  // its path is below each layer, else below the base
  // DeBERTa's table: its rows, path, and norm.
  int64_t relative_rows = 0;
  std::string relative_embedding, relative_norm;
  NormOptions relative_norm_options;
  std::optional<TokenConvolutionOptions> convolution;
  std::shared_ptr<const PackedWeights> packed;  // matrices that lie packed; null: none
  std::vector<std::string> unused;  // beginnings of names below the base that nothing needs
  // Layers that replace `layers` if the checkpoint's first one has this tensor.
  struct Variant {
    std::string tensor;
    std::vector<LayerOptions> layers;
  };
  std::optional<Variant> variant;
};

// The options of a decoder whose states are embeddings, without its head; `causal` is set. Throws
// Unsupported for parts that encoders do not support.
EncoderOptions as_encoder(const DecoderOptions& decoder);

// The texts of a pass: all int32 (batch, length).
struct EncoderInput {
  array::Array ids;
  array::Array mask;                        // 1 for tokens, 0 for padding
  std::optional<array::Array> token_types;  // null: all are 0
  std::optional<array::Array> task_types;   // likewise
};

class Encoder {
 public:
  Encoder(const Parameters& parameters, const EncoderOptions& options, int64_t context);

  // The states (batch, length, hidden_size).
  array::Array operator()(const EncoderInput& input) const;
  // The states (1, length, hidden_size) of features (1, inputs, frames), for an encoder with a
  // stem; in a style of channels (1, hidden_size, 1, length) of (1, inputs, 1, frames).
  array::Array of_features(const array::Array& features) const;
  const EncoderOptions& options() const { return options_; }
  // The part of the checkpoint with the encoder.
  const Parameters& root() const { return root_; }
  // Throws InvalidFile for a tensor of the encoder that no module uses. Heads of other tasks are
  // allowed.
  void check_all_used() const;

 private:
  array::Array embed(const EncoderInput& input) const;
  // Runs the layers on embedded tokens; `input`: null if all are seen.
  array::Array run_layers(const array::Array& embedded, const EncoderInput* input) const;
  array::Array positions_of(const array::Array& ids, const mil::Dim& length) const;
  array::Array without_masked(const array::Array& x, const EncoderInput& input) const;
  std::vector<Rotation> rotations(const mil::Dim& length) const;

  EncoderOptions options_;
  Parameters root_;
  std::vector<Rope> ropes_;
  std::optional<array::Array> rope_table_;
  std::optional<FeatureStem> stem_;
  std::optional<Embedding> embedding_, token_types_, task_types_, positions_;
  std::optional<Norm> embedding_norm_, final_norm_;
  std::optional<Linear> projection_;
  std::optional<array::Array> relative_;
  std::vector<RelativeBias> biases_;  // one for all layers, or one for each
  std::vector<DecoderLayer> layers_;
  std::optional<TokenConvolution> convolution_;
};

}  // namespace pippin::nn
