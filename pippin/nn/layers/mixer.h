// The first half of a decoder's layer, which passes information from token to token. Attention
// (nn/attention/attention.h) is one, a short convolution (nn/recurrent/short_convolution.h)
// another.
//
// A mixer is a class with options; the options declare its needs and make it from a checkpoint.
// nn/layer.h lists them: a new mixer is a file here and a line there.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "pippin/array/array.h"
#include "pippin/nn/layers/cache.h"
#include "pippin/nn/layers/layer_carry.h"
#include "pippin/nn/layers/pass.h"
#include "pippin/nn/layers/rope.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

struct TokenOrder;

struct MixerNeeds {
  std::string_view name;               // for messages: "attention"
  int64_t kv_heads = 0, head_dim = 0;  // of its keys and values in the cache; 0: none
  bool values = true;                  // in addition to the keys; false: they are a part of those
  int64_t value_dim = 0;               // of values, if not head_dim
  bool stored = true;     // keys and values of its own; false: it reads another layer's
  int64_t index_dim = 0;  // of an additional key of each token, by which keys are chosen
                          // (nn/attention/indexer.h)
  std::vector<CarriedState> states;
  std::optional<size_t> rope;     // index of the model's rope for its queries and keys
  std::optional<int64_t> window;  // number of keys that a query sees, itself included
  // In an encoder that is not causal: number of keys after a query that it sees, if not `window`.
  std::optional<int64_t> window_after;
  std::optional<int64_t> chunk;  // positions of a block; a query sees its own
  bool order = false;            // MixerInput::order
  bool embedded = false;         // MixerInput::embedded

  // Elements of a head's values in the cache; 0: none.
  int64_t value_size() const { return !values ? 0 : value_dim > 0 ? value_dim : head_dim; }
};

// The input of one layer's mixer in one pass.
struct MixerInput {
  int64_t layer;             // its number
  const Rotation* rotation;  // of its rope; null: none
  // Added to its scores, (1, 1 or heads, q, end). Null: it has no scores, or, for attention without
  // a bias, all keys are seen.
  const array::Array* mask;
  Cache& cache;
  const Pass& pass;
  LayerCarry& carry;
  const TokenOrder* order;       // nn/recurrent/recurrence.h; null if no layer needs it
  const array::Array* embedded;  // the embedding's result, (1, q, features); null likewise
  // The table of relative positions (nn/attention/disentangled_attention.h); null likewise.
  const array::Array* relative = nullptr;
};

class Mixer {
 public:
  virtual ~Mixer() = default;
  // x and the result are (1, q, features), or in the style's layout (nn/weights/style.h).
  virtual array::Array operator()(const array::Array& x, const MixerInput& input) const = 0;
};

// For layers that consist of a feed-forward only.
struct NoMixerOptions {
  MixerNeeds needs() const { return {.name = "a feed-forward alone"}; }
  std::unique_ptr<const Mixer> make(const Parameters& /*parameters*/) const { return nullptr; }
};

}  // namespace pippin::nn
