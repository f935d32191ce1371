// The key-value cache of the package family `whisperkit`: all layers' keys and values are one input
// each, a pass adds one token, and a mask says in which slot. The caller keeps the caches.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "pippin/array/array.h"
#include "pippin/nn/layers/cache.h"

namespace pippin::nn {

class SlotCache final : public Cache {
 public:
  // `keys` and `values` are (1, layers * num_kv_heads * head_dim, 1, slots); `place`, (1, slots),
  // is 1 for the new token's slot and 0 for the others.
  SlotCache(array::Array keys, array::Array values, const array::Array& place, int64_t num_kv_heads,
            int64_t head_dim);

  // Keys are (1, kv_heads, head_dim, 1), values (1, kv_heads * head_dim, 1, 1). Returns (1,
  // kv_heads, head_dim, slots). Layers are updated in order.
  std::pair<array::Array, array::Array> update(int64_t layer, const array::Array& keys,
                                               const array::Array& values,
                                               const Pass& pass) override;
  // The token's keys and values in all layers, (1, layers * kv_heads * head_dim, 1, 1).
  array::Array new_keys() const;
  array::Array new_values() const;

 private:
  array::Array merged(const array::Array& old, int64_t layer, const array::Array& added) const;

  array::Array keys_, values_;
  array::Array place_, others_;  // (1, 1, 1, slots)
  int64_t num_kv_heads_, head_dim_;
  std::vector<array::Array> new_keys_, new_values_;
};

}  // namespace pippin::nn
