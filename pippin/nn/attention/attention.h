// Attention over a key-value cache, configurable for the dense models of Hugging Face.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "pippin/array/array.h"
#include "pippin/nn/attention/block_indexer.h"
#include "pippin/nn/attention/differential.h"
#include "pippin/nn/attention/gated_mask.h"
#include "pippin/nn/attention/relative_scores.h"
#include "pippin/nn/attention/score_bias.h"
#include "pippin/nn/attention/temperature.h"
#include "pippin/nn/attention/value_mask.h"
#include "pippin/nn/layers/causal_convolution.h"
#include "pippin/nn/layers/linear.h"
#include "pippin/nn/layers/mixer.h"
#include "pippin/nn/layers/mlp.h"
#include "pippin/nn/layers/norm.h"
#include "pippin/nn/layers/rope.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

// The projections of a layer's input, in the order in which one matrix holds them.
enum class QkvPart { Query, Key, Value };

// The layout of the query, key and value projections in the checkpoint.
enum class QkvLayout {
  Separate,
  Blocks,      // one matrix, named `qkv`: the heads of q, then those of k, then those of v
  PerGroup,    // one matrix: for each head of k its heads of q, itself, its head of v
  GateBlocks,  // the same after as many rows as q has of a gate, as output_gate has it (HRM)
  Quarters,    // one matrix: for each quarter of the heads those of q, of v, of k (CodeGen)
};

// Normalization of queries and keys.
struct QkNorm {
  enum class Place {
    None,
    Projection,  // the whole projection, before it is split into heads
    BeforeRope,  // each head
    AfterRope,   // each head
  };
  enum class Weights {
    Shared,      // (head_dim), or the width of the projection
    PerHead,     // (heads, head_dim)
    HeadModules  // "norms.N.weight" (head_dim) for head N
  };
  Place place = Place::None;
  Weights weights = Weights::Shared;
  NormOptions norm;
  std::string query = "q_norm", key = "k_norm";
};

// Each has make(parameters).
using ScoreBiasOptions = std::variant<NoScoreBiasOptions, ValueMaskOptions, BlockIndexerOptions,
                                      RelativeScoresOptions, GatedMaskOptions>;

struct AttentionOptions {
  int64_t features = 0;
  int64_t num_heads = 0;
  int64_t num_kv_heads = 0;
  int64_t head_dim = 0;
  int64_t value_dim = 0;     // of a value head, if not head_dim; separate projections
  double value_scale = 1.0;  // of values
  bool qkv_bias = false;
  std::optional<bool> key_bias;  // of `key`, if not qkv_bias; separate projections
  bool output_bias = false;
  bool transposed = false;  // matrices are stored as (in, out)
  QkvLayout layout = QkvLayout::Separate;
  // The layout and the pairs (`interleaved`) in the other form of the checkpoint, Hugging Face's or
  // GGUF, which adapters may have.
  struct OtherForm {
    QkvLayout layout;
    bool interleaved;
  };
  std::optional<OtherForm> other_form;
  std::string query = "q_proj", key = "k_proj", value = "v_proj", qkv = "qkv_proj",
              output = "o_proj";
  // Of each matrix WeightLayout::groups, where projections are separate.
  int64_t query_groups = 0, key_groups = 0, value_groups = 0, output_groups = 0;
  std::optional<double> clip;           // clamps projections to [-clip, clip],
  bool clip_normed = false;             // after a norm over the whole projections, else before
  std::optional<double> scale;          // of the scores; 1 / sqrt(head_dim) if absent
  std::optional<double> softcap;        // scores become softcap * tanh(scores / softcap)
  std::optional<int64_t> window;        // number of keys that a query sees, itself included
  std::optional<int64_t> window_after;  // MixerNeeds::window_after
  // A query sees the keys of its own block of that many positions: Llama 4's chunks.
  std::optional<int64_t> chunk;
  // An extra score for each head, (num_heads), that takes part in the softmax and has no value.
  bool sinks = false;
  std::string sinks_name = "sinks";
  std::optional<Temperature> temperature;
  // The model's rope for queries and keys, the number of rotated dimensions of a head, and whether
  // the checkpoint rotates neighbouring pairs.
  std::optional<size_t> rope;
  int64_t rope_dims = 0;
  bool interleaved = false;
  QkNorm qk_norm;
  NamedNorm output_norm;                  // before `output`
  std::optional<NormOptions> value_norm;  // of each value head, without weights
  bool values_of_keys = false;            // v is the key's projection, before its norm and rope
  std::optional<int64_t> keys_of;         // the layer whose keys and values it reads
  int64_t output_features = 0;            // width of the result; 0: features
  // `query` has twice as many rows, each head's followed by as many of a gate: the head's result is
  // multiplied by its sigmoid. With separate projections only.
  bool output_gate = false;
  // The same with a matrix of its own, for each element or each head.
  struct Gate {
    std::string path;
    bool by_head = false, bias = false;
    Activation activation = Activation::Sigmoid;
  };
  std::optional<Gate> gate;
  // Added to the scores besides the mask.
  ScoreBiasOptions bias;
  // Differential attention (nn/attention/differential.h), and what starts its factor; with a norm
  // of heads.
  std::optional<double> differential;
  NormOptions differential_norm;
  // Keys and values as they are projected, side by side, are added to what a causal convolution
  // makes of them, one of several modules' taps.
  struct Convolution {
    std::vector<std::string> modules;
    int64_t length = 0;
    std::string state = kConvolutionState;  // its name among what layers carry
  };
  std::optional<Convolution> convolution;
  // As MLPOptions::adapter, of each of the projections; empty names: none.
  std::string query_adapter, key_adapter, value_adapter;
  int64_t adapter_rank = 0;

  int64_t value_size() const { return value_dim > 0 ? value_dim : head_dim; }
  bool has_key_bias() const { return key_bias.value_or(qkv_bias); }
  MixerNeeds needs() const;
  std::unique_ptr<const Mixer> make(const Parameters& parameters) const;
};

class Attention final : public Mixer {
 public:
  Attention(const Parameters& parameters, const AttentionOptions& options);

  array::Array operator()(const array::Array& x, const MixerInput& input) const override;

 private:
  using Mask = std::optional<array::Array>;
  // One projection and the operations on it up to the cache.
  struct Projection {
    int64_t heads;
    Linear linear;
    std::optional<Norm> norm;
  };
  Projection make(const Parameters& parameters, QkvPart part) const;
  void make_bias(const Parameters& parameters);
  std::optional<Norm> make_norm(const Parameters& parameters, const std::string& name,
                                int64_t heads) const;
  // (1, heads, q, head_dim).
  array::Array project(const Projection& projection, const array::Array& x,
                       const Rotation* rotation) const;
  // The same from the projection's result, and from that of values, which are not rotated.
  array::Array finish(const Projection& projection, array::Array y, const Rotation* rotation) const;
  array::Array finish_values(const array::Array& y) const;
  array::Array heads_of(const array::Array& y, int64_t heads) const;
  array::Array attend(const array::Array& queries, const array::Array& keys,
                      const array::Array& values, const Mask& mask) const;
  array::Array attend_with_sinks(const array::Array& queries, const array::Array& keys,
                                 const array::Array& values, const Mask& mask) const;
  // The queries that share a key-value head as rows of one product, (1, kv_heads, group * q,
  // head_dim), and back.
  array::Array grouped(const array::Array& queries) const;
  array::Array attend_softcapped(const array::Array& queries, const array::Array& keys,
                                 const array::Array& values, const Mask& mask) const;
  // Attention written as products and softmax, for packages for the Neural Engine.
  array::Array attend_spelled(const array::Array& queries, const array::Array& keys,
                              const array::Array& values, const Mask& mask) const;
  array::Array softcapped(const array::Array& scores) const;
  static array::Array masked(const array::Array& scores, const Mask& mask);
  // Adds the weights of the heads that LayerCarry names to it.
  void watch(const array::Array& queries, const array::Array& keys, const Mask& mask,
             LayerCarry& carry) const;
  double scale() const;
  // All keys and values that the queries may see.
  std::pair<array::Array, array::Array> seen_keys(const array::Array& tokens,
                                                  const MixerInput& input) const;
  // The whole module in a style of channels: (1, features, height, width) in and out.
  array::Array in_channels(const array::Array& x, const MixerInput& input) const;
  // (1, heads, head_dim, q).
  array::Array turned_heads(const Projection& projection, const array::Array& x,
                            const Rotation* rotation) const;
  array::Array attend_in_channels(const array::Array& queries, const array::Array& keys,
                                  const array::Array& values, const array::Array* mask,
                                  LayerCarry& carry) const;
  // All keys and values that the queries may see, (1, heads, head_dim, end).
  std::pair<array::Array, array::Array> seen_in_channels(const array::Array& tokens,
                                                         const MixerInput& input) const;
  // Each key-value head repeated for the query heads that share it.
  array::Array expand_heads(const array::Array& x) const;

  std::string path_;
  AttentionOptions options_;
  Style style_;
  Projection q_;
  std::optional<Projection> k_, v_;  // none if another layer's are read
  std::optional<array::Array> sinks_;
  std::optional<Norm> value_norm_;
  std::optional<Norm> output_norm_;
  std::unique_ptr<const ScoreBias> bias_;
  std::optional<Differential> differential_;
  std::optional<CausalConvolution> convolution_;
  array::Array gated(const array::Array& joined, const array::Array& x) const;

  std::optional<Linear> gate_;  // of the output
  Linear o_;
};

}  // namespace pippin::nn
