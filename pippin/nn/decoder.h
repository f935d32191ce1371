// A decoder-only transformer: embedding, layers of attention and feed-forward, norm, head.
//
// DecoderOptions describes all differences between architectures; a file of models/ fills it from
// config.json. Paths are names in the checkpoint, those of a layer's parts below the layer.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/array/array.h"
#include "pippin/nn/altup.h"
#include "pippin/nn/attention/alibi.h"
#include "pippin/nn/hyper_connection.h"
#include "pippin/nn/layer.h"
#include "pippin/nn/layers/cache.h"
#include "pippin/nn/layers/feature_shift.h"
#include "pippin/nn/layers/layer_rows.h"
#include "pippin/nn/layers/linear.h"
#include "pippin/nn/layers/norm.h"
#include "pippin/nn/layers/pass.h"
#include "pippin/nn/layers/rope.h"
#include "pippin/nn/recurrent/recurrence.h"
#include "pippin/nn/weights/packed_weights.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

// Positions that are added to the embedding.
struct LearnedPositions {
  std::string path;
  int64_t rows = 0;
  int64_t offset = 0;  // row of position 0
  // Sines and cosines (Vaswani et al. 2017) instead of a table in the checkpoint: the sines of all
  // frequencies, then their cosines. The frequencies fall from 1 to 1 / 10000, which is the last
  // one (XGLM), or would be the next one (CTRL).
  enum class Sinusoids { None, Whole, Open };
  Sinusoids sinusoids = Sinusoids::None;
};

// Its rows below `context`, and the offset's: those of the checkpoint, or of sines and cosines.
Embedding position_table(const Parameters& root, const LearnedPositions& positions, int64_t width,
                         int64_t context);

// Rows of embeddings in place of tokens: the results of a tower for pictures.
struct RowInputOptions {
  // The number of first layers after which further elements of the rows are added to the residual.
  int64_t added = 0;
  // Whether rows are multiplied by embedding_scale, as embeddings are.
  bool scaled = false;
  // Which tokens rows see: those before them, also the others of their run, or, as all tokens of
  // the prompt, the whole prompt.
  enum class Sight : uint8_t { Causal, Runs, Prompt };
  Sight sight = Sight::Causal;
  // Whether rows see those after them in layers with a window only.
  bool causal_full_layers = false;
  // The id that processors write into a prompt for each row of a picture; -1: none is known.
  int32_t placeholder = -1;
};

struct DecoderOptions {
  int64_t vocab_size = 0;
  // The rows of these matrices in the checkpoint, if they are padded; 0: vocab_size. A head of
  // vocab_size rows is accepted as well.
  int64_t embedding_rows = 0, head_rows = 0;
  int64_t hidden_size = 0;
  int64_t context = 0;  // largest number of positions of the model
  // Prefix of all paths below except the head's; checkpoints of the bare model lack it.
  std::string base = "model";
  std::string embedding = "embed_tokens", layers_path = "layers", final_norm = "norm";
  int64_t embedding_size = 0;  // if not hidden_size (OPT): projected by
  std::string project_in = "project_in", project_out = "project_out";
  std::optional<LearnedPositions> positions;
  double embedding_scale = 1.0;
  std::vector<int32_t> embedded_as_first;  // ids of image placeholders: they use the row of id 0
  std::string embedding_norm;              // after the embedding; an empty name: none
  NormOptions norm;                        // final_norm's and embedding_norm's
  std::optional<NormOptions> embedding_norm_form;  // embedding_norm's, if it differs
  FeatureShiftOptions embedding_shift;             // before the first layer
  std::optional<RowInputOptions> row_input;        // none: the model reads tokens only
  std::string head = "lm_head";
  bool tied = false;  // the head shares the embedding
  bool head_bias = false;
  // A linear layer, an activation and a norm between the final norm and the head (Ettin); an empty
  // path: none.
  struct HeadLayer {
    std::string path;
    bool bias = false;
    Activation activation = Activation::Gelu;
    NamedNorm norm;
  };
  HeadLayer head_layer;
  double logit_scale = 1.0;
  std::optional<double> logit_softcap;
  std::vector<RopeOptions> ropes;  // indexed by AttentionOptions::rope
  std::optional<AlibiOptions> alibi;
  std::optional<AltUpOptions> altup;           // also for the layers
  std::optional<LayerRowsOptions> layer_rows;  // likewise
  std::optional<HyperOptions> hyper;           // likewise
  std::vector<LayerOptions> layers;
  // Packed forms of matrices that the checkpoint may have; null: none.
  std::shared_ptr<const PackedWeights> packed;
  // For the checkpoint of a language model with other parts: roots that replace
  // `base` and `head` if the file has them, and prefixes of the names of the other parts.
  struct Root {
    std::string base, head;
  };
  std::vector<Root> roots;
  std::vector<std::string> other_parts;
  std::vector<std::string> unused;  // prefixes of unused names below the base
  bool tied_without_head = false;   // a head in the file makes it untied
  // Multi-token prediction layers, whose number is `key` of the configuration. The names of the
  // first one have this prefix. They are ignored, with a note if they are missing, except by
  // PredictionHead (nn/prediction_head.h), if the first one's form is known.
  struct Prediction {
    // Paths below the prefix.
    struct Form {
      std::string projection;  // of embedding and hidden state, (hidden_size, 2 * hidden_size)
      std::string embedding_norm, hidden_norm, final_norm;
      std::string layer_path;  // empty: the prefix itself
      LayerOptions layer;
    };
    std::string key;
    int64_t layers = 0;
    std::string beginning;
    std::optional<Form> form = std::nullopt;
  };
  std::optional<Prediction> prediction;

  // Suffixes of the names of unneeded buffers in checkpoints: tables of frequencies, causal masks,
  // powers of decays, a tied head.
  std::vector<std::string> ignored_endings() const;
  int64_t max_kv_heads() const;
  // The elements of a row (row_input).
  int64_t row_width() const { return hidden_size * (1 + (row_input ? row_input->added : 0)); }
  bool has_sections() const;  // whether positions have three coordinates
  int64_t table_rows() const { return std::max(embedding_rows, vocab_size); }
  // Those of the head's matrix that is read from `head`.
  int64_t head_rows_of(const Parameters& head) const;
  // Throws Unsupported, naming the layer, if one keeps more than keys and values, or none:
  // `family` cannot hold it.
  void check_keys_and_values_only(std::string_view family) const;
};

// Rows of embeddings for one pass.
struct InputRows {
  array::Array values;    // (1, q, DecoderOptions::row_width()), zeros for tokens
  array::Array are_rows;  // float (1, q, 1): 1 for rows, 0 for tokens
};

// Values that the layers of one pass share, recorded once.
struct PassTables {
  std::vector<Rotation> rotations;  // one for each rope
  // By window, or minus the size of chunks; 0: neither; kCausalMask: that of full layers, if
  // Pass::causal_full_layers. For layers with attention.
  static constexpr int64_t kCausalMask = INT64_MAX;
  std::map<int64_t, array::Array> masks;
  std::shared_ptr<LayerCarry> carry = std::make_shared<LayerCarry>();
  // As in MixerInput. The code that embeds tokens sets the second.
  std::optional<TokenOrder> order;
  std::optional<array::Array> embedded;
};

class Decoder {
 public:
  // For sequences of up to `context` tokens. Throws NotFound or InvalidFile for tensors that are
  // absent, of another shape, or not part of any module.
  Decoder(const Parameters& parameters, const DecoderOptions& options, int64_t context);

  // From ids (1, q) to logits (1, q, vocabulary): tables(), embed(), every layer(), logits().
  array::Array operator()(const array::Array& ids, Cache& cache, const Pass& pass) const;
  // The same with rows in place of some tokens, whose ids have no effect but on layers that look
  // ids up.
  array::Array operator()(const array::Array& ids, const InputRows& rows, Cache& cache,
                          const Pass& pass) const;

  // The same up to the final norm: logits() are those of this.
  array::Array body(const array::Array& ids, const InputRows* rows, Cache& cache,
                    const Pass& pass) const;

  PassTables tables(const Pass& pass) const;
  array::Array embed(const array::Array& ids, const Pass& pass, const PassTables& tables,
                     const InputRows* rows = nullptr) const;
  // The parts of embed(): the embedding of ids; learned positions, int32 (q), added to it; the norm
  // after both. If the residual has several streams, embed() returns these.
  array::Array embed_ids(const array::Array& ids) const;
  array::Array add_positions(const array::Array& x, const array::Array& positions) const;
  array::Array normed_embedding(const array::Array& x) const;
  // The window of a layer, negative for chunks; 0 if it has none, or one as large as the context.
  int64_t window_of(size_t layer) const;
  // The windows that hide something within the context, 0 for layers without.
  std::set<int64_t> windows() const;
  bool has_positions() const { return positions_.has_value(); }
  // The rotations at given positions, like Rope::at().
  std::vector<Rotation> rotations(const array::Array& positions, const array::Array& length) const;
  array::Array layer(size_t index, const array::Array& x, const PassTables& tables, Cache& cache,
                     const Pass& pass) const;
  array::Array logits(const array::Array& x) const;
  // The parts of logits(): the final norm; the head, in parts of `sizes` outputs each.
  array::Array normed(const array::Array& x) const;
  std::vector<array::Array> head_parts(const array::Array& x,
                                       const std::vector<int64_t>& sizes) const;
  const DecoderOptions& options() const { return options_; }

 private:
  // The key of a layer's mask in PassTables::masks.
  int64_t mask_of(size_t layer, const Pass& pass) const;
  array::Array with_rows(const array::Array& x, const InputRows& rows) const;
  array::Array finished(const array::Array& logits) const;
  array::Array headed(const array::Array& x) const;  // the head's input
  void check_all_used(const Parameters& parameters) const;

  DecoderOptions options_;
  int64_t context_;
  std::vector<Rope> ropes_;
  std::optional<Embedding> embedding_, positions_;
  std::optional<Linear> project_in_, project_out_, head_layer_, head_;
  std::optional<Norm> embedding_norm_, final_norm_, head_norm_;
  std::optional<AltUpStreams> streams_;
  std::optional<LayerRowTable> rows_;
  std::optional<HyperStreams> hyper_;
  std::optional<FeatureShift> embedding_shift_;
  std::vector<DecoderLayer> layers_;
};

}  // namespace pippin::nn
