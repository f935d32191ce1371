// Attention over a key-value cache, in the form of the `stateful` package family.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "pippin/array/array.h"
#include "pippin/array/builder.h"
#include "pippin/nn/linear.h"
#include "pippin/nn/parameters.h"
#include "pippin/nn/rope.h"

namespace pippin::nn {

// What all layers of one pass share: q tokens at positions [past, end).
struct Pass {
  mil::Dim past, query, end;
  array::Array mask;  // (1, 1, q, end), added to the scores
};

// The states keyCache and valueCache, (layers, 1, kv_heads, context, head_dim).
class KVCache {
 public:
  KVCache(array::Builder& builder, mil::DataType type, int64_t num_layers, int64_t num_kv_heads,
          int64_t context, int64_t head_dim);

  // Writes keys and values (1, kv_heads, q, head_dim) to slots [past, end) of a layer and returns
  // its slots [0, end). Spelled slice_update, write_state, read_state, slice: engines turn it into
  // a write in place. Layers are updated in any order, each once.
  std::pair<array::Array, array::Array> update(int64_t layer, const array::Array& keys,
                                               const array::Array& values, const Pass& pass);

 private:
  struct Buffer {
    array::State state;
    std::optional<array::Array> content = std::nullopt;  // as last read
    void write(int64_t layer, const array::Array& rows, const Pass& pass);
  };

  Buffer keys_, values_;
};

struct AttentionOptions {
  int64_t features = 0;
  int64_t num_heads = 0;
  int64_t num_kv_heads = 0;
  int64_t head_dim = 0;
  bool qkv_bias = false;
  bool output_bias = false;
  std::optional<double> scale = std::nullopt;  // of the scores; 1 / sqrt(head_dim) if absent
};

// Grouped-query attention: "q_proj", "k_proj", "v_proj", "o_proj".
class Attention {
 public:
  Attention(const Parameters& parameters, const AttentionOptions& options);

  array::Array operator()(const array::Array& x, int64_t layer, const Rope& rope,
                          const Rotation& rotation, KVCache& cache, const Pass& pass) const;

 private:
  // (1, q, heads * head_dim) -> (1, heads, q, head_dim)
  array::Array split_heads(const array::Array& x, int64_t heads) const;
  // Each key-value head repeated for the query heads that share it.
  array::Array expand_heads(const array::Array& x) const;

  std::string path_;
  AttentionOptions options_;
  Linear q_, k_, v_, o_;
};

}  // namespace pippin::nn
