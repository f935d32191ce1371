// The key-value cache of the `windowed` package family: inputs and outputs of the program, with the
// sequence as the last axis. The caller copies the outputs back to the inputs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pippin/array/array.h"
#include "pippin/array/builder.h"
#include "pippin/nn/layers/cache.h"

namespace pippin::nn {

class WindowCache : public Cache {
 public:
  // Declares the inputs k_cache_i and v_cache_i, (1, kv_heads * head_dim, 1, slots), of `count`
  // layers from `first` on: i is counted from there.
  WindowCache(array::Builder& builder, mil::DataType type, int64_t first, int64_t count,
              int64_t num_kv_heads, int64_t head_dim, int64_t slots);

  // Keys are (1, kv_heads, head_dim, q), values in their projection's shape: (1, kv_heads *
  // head_dim, 1, q). Returns (1, kv_heads, head_dim, slots + q), the cache first; the values of the
  // outputs new_k_cache_i and new_v_cache_i are kept (updated()).
  std::pair<array::Array, array::Array> update(int64_t layer, const array::Array& keys,
                                               const array::Array& values,
                                               const Pass& pass) override;
  // The outputs that update() made for a layer: keys, values.
  const std::pair<array::Array, array::Array>& updated(int64_t layer) const;

 private:
  struct Layer {
    array::Array old_keys, old_values;
    std::optional<std::pair<array::Array, array::Array>> updated = std::nullopt;
  };
  array::Array append(const array::Array& old, const array::Array& heads) const;

  int64_t first_, num_kv_heads_, head_dim_, slots_;
  std::vector<Layer> layers_;
};

}  // namespace pippin::nn
