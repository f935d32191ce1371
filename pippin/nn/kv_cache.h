// The key-value cache of a sequence: what a family of packages keeps it in is a class of its own.
// This one is the `stateful` family's; nn/fixed_cache.h and nn/window_cache.h have the others.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "pippin/array/array.h"
#include "pippin/array/builder.h"
#include "pippin/nn/pass.h"

namespace pippin::nn {

class KVCache {
 public:
  virtual ~KVCache() = default;
  // Takes the new keys and values of a layer and returns all that its queries may see. Layers are
  // updated in any order, each once.
  virtual std::pair<array::Array, array::Array> update(int64_t layer, const array::Array& keys,
                                                       const array::Array& values,
                                                       const Pass& pass) = 0;
};

// The states keyCache and valueCache, (layers, 1, kv_heads, context, head_dim).
class StatefulCache : public KVCache {
 public:
  StatefulCache(array::Builder& builder, mil::DataType type, int64_t num_layers,
                int64_t num_kv_heads, int64_t context, int64_t head_dim);

  // Writes keys and values (1, kv_heads, q, head_dim) to slots [past, end) of a layer and returns
  // its slots [0, end). Spelled slice_update, write_state, read_state, slice: engines turn it into
  // a write in place. A layer with fewer heads than the states have uses the first ones.
  std::pair<array::Array, array::Array> update(int64_t layer, const array::Array& keys,
                                               const array::Array& values,
                                               const Pass& pass) override;

 private:
  struct Buffer {
    array::State state;
    std::optional<array::Array> content = std::nullopt;  // as last read
    void write(int64_t layer, const array::Array& rows, const Pass& pass);
    array::Array read(int64_t layer, const mil::Dim& heads, const Pass& pass) const;
  };

  Buffer keys_, values_;
};

}  // namespace pippin::nn
