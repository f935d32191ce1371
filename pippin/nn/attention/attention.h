// Attention over a key-value cache, configurable to what the dense models of Hugging Face have.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pippin/array/array.h"
#include "pippin/nn/attention/temperature.h"
#include "pippin/nn/layers/linear.h"
#include "pippin/nn/layers/mixer.h"
#include "pippin/nn/layers/mlp.h"
#include "pippin/nn/layers/norm.h"
#include "pippin/nn/layers/rope.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

// The projections that a layer multiplies its input with, in the order in which one matrix holds
// them.
enum class QkvPart { Query, Key, Value };

// How the query, key and value projections lie in the checkpoint.
enum class QkvLayout {
  Separate,
  Blocks,    // one matrix, named `qkv`: the heads of q, then those of k, then those of v
  PerGroup,  // one matrix: for each head of k its heads of q, itself, its head of v
  Quarters,  // one matrix: for each quarter of the heads those of q, of v, of k (CodeGen)
};

// Normalisation of queries and keys.
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

struct AttentionOptions {
  int64_t features = 0;
  int64_t num_heads = 0;
  int64_t num_kv_heads = 0;
  int64_t head_dim = 0;
  int64_t value_dim = 0;  // of a head of values, where that is not head_dim; separate projections
  double value_scale = 1.0;  // of values
  bool qkv_bias = false;
  bool output_bias = false;
  bool transposed = false;  // matrices lie as (in, out)
  QkvLayout layout = QkvLayout::Separate;
  std::string query = "q_proj", key = "k_proj", value = "v_proj", qkv = "qkv_proj",
              output = "o_proj";
  std::optional<double> clip;     // projections are kept in [-clip, clip],
  bool clip_normed = false;       // after a norm over the whole of them, else before
  std::optional<double> scale;    // of the scores; 1 / sqrt(head_dim) if absent
  std::optional<double> softcap;  // scores become softcap * tanh(scores / softcap)
  std::optional<int64_t> window;  // keys that a query sees, itself included
  // A query sees keys of its own block of so many positions: Llama 4's chunks.
  std::optional<int64_t> chunk;
  // A further score for each head, (num_heads), that takes part in the softmax and has no value.
  bool sinks = false;
  std::string sinks_name = "sinks";
  std::optional<Temperature> temperature;
  // Which of the model's ropes turns queries and keys, how many dimensions of a head it turns, and
  // whether the checkpoint means neighbouring pairs.
  std::optional<size_t> rope;
  int64_t rope_dims = 0;
  bool interleaved = false;
  QkNorm qk_norm;
  NamedNorm output_norm;                  // before `output`
  std::optional<NormOptions> value_norm;  // of each head of v, without weights
  bool values_of_keys = false;     // v is what the key's projection gives, before its norm and rope
  std::optional<int64_t> keys_of;  // the layer whose keys and values it reads
  int64_t output_features = 0;     // what it gives; 0: features
  // `query` has twice as many rows, after those of each head as many of a gate: what the head saw
  // is multiplied by its sigmoid. With separate projections only.
  bool output_gate = false;
  // The same with a matrix of its own, for each element or each head.
  struct Gate {
    std::string path;
    bool by_head = false, bias = false;
    Activation activation = Activation::Sigmoid;
  };
  std::optional<Gate> gate;
  // As MLPOptions::adapter, of each of the projections; empty names: none.
  std::string query_adapter, key_adapter, value_adapter;
  int64_t adapter_rank = 0;

  int64_t value_size() const { return value_dim > 0 ? value_dim : head_dim; }
  MixerNeeds needs() const;
  std::unique_ptr<const Mixer> make(const Parameters& parameters) const;
};

class Attention final : public Mixer {
 public:
  Attention(const Parameters& parameters, const AttentionOptions& options);

  array::Array operator()(const array::Array& x, const MixerInput& input) const override;

 private:
  // One projection and what happens to it up to the cache.
  struct Projection {
    int64_t heads;
    Linear linear;
    std::optional<Norm> norm;
  };
  Projection make(const Parameters& parameters, QkvPart part) const;
  std::optional<Norm> make_norm(const Parameters& parameters, const std::string& name,
                                int64_t heads) const;
  // (1, heads, q, head_dim).
  array::Array project(const Projection& projection, const array::Array& x,
                       const Rotation* rotation) const;
  // The same of what the projection gave, and of that of values, which are not turned.
  array::Array finish(const Projection& projection, array::Array y, const Rotation* rotation) const;
  array::Array finish_values(const array::Array& y) const;
  array::Array heads_of(const array::Array& y, int64_t heads) const;
  array::Array attend(const array::Array& queries, const array::Array& keys,
                      const array::Array& values, const array::Array& mask) const;
  array::Array attend_with_sinks(const array::Array& queries, const array::Array& keys,
                                 const array::Array& values, const array::Array& mask) const;
  // The queries that share a key-value head as rows of one product, (1, kv_heads, group * q,
  // head_dim), and back.
  array::Array grouped(const array::Array& queries) const;
  array::Array attend_softcapped(const array::Array& queries, const array::Array& keys,
                                 const array::Array& values, const array::Array& mask) const;
  // With its products and softmax spelled out, as packages for the Neural Engine have it.
  array::Array attend_spelled(const array::Array& queries, const array::Array& keys,
                              const array::Array& values, const array::Array& mask) const;
  array::Array softcapped(const array::Array& scores) const;
  double scale() const;
  // All that the queries may see.
  std::pair<array::Array, array::Array> seen_keys(const array::Array& tokens,
                                                  const MixerInput& input) const;
  // The whole of it in a style of channels: (1, features, height, width) in and out.
  array::Array in_channels(const array::Array& x, const MixerInput& input) const;
  // (1, heads, head_dim, q).
  array::Array turned_heads(const Projection& projection, const array::Array& x,
                            const Rotation* rotation) const;
  array::Array attend_in_channels(const array::Array& queries, const array::Array& keys,
                                  const array::Array& values, const array::Array& mask) const;
  // Each key-value head repeated for the query heads that share it.
  array::Array expand_heads(const array::Array& x) const;

  std::string path_;
  AttentionOptions options_;
  Style style_;
  Projection q_;
  std::optional<Projection> k_, v_;  // none where another layer's are read
  std::optional<array::Array> sinks_;
  std::optional<Norm> value_norm_;
  std::optional<Norm> output_norm_;
  array::Array gated(const array::Array& joined, const array::Array& x) const;

  std::optional<Linear> gate_;  // of the output
  Linear o_;
};

}  // namespace pippin::nn
