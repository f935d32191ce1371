// The key-value cache of the `anemll` package family: states of a fixed size that all chunks and
// functions of a model share.
//
// The unified state model_model_kv_cache_0 is (2 layers, kv_heads, context, head_dim): the keys of
// layer i at row i, its values at row layers + i. A model that mixes sliding and full layers, with
// a window shorter than the context, has two states of that form instead, each for its own layers
// in order: model_model_kv_cache_local with `window` slots and model_model_kv_cache_global.
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

struct FixedCacheShape {
  int64_t context = 0, num_kv_heads = 0, head_dim = 0;
  int64_t window = 0;              // slots of the local state; 0: there is only one state
  std::vector<bool> local_layers;  // a flag for each layer; all false without a window

  struct StateShape {
    std::string name;
    std::vector<int64_t> dims;
  };
  std::vector<StateShape> states() const;
  bool is_local(int64_t layer) const { return local_layers.at(static_cast<size_t>(layer)); }
};

class FixedCache : public Cache {
 public:
  // Declares the states. `position`: int32 (1), the slot of the first new token. `rotated`: local
  // states hold the last `window` positions in order; new ones are appended, the oldest are
  // dropped.
  FixedCache(array::Builder& builder, mil::DataType type, const FixedCacheShape& shape,
             const array::Array& position, bool rotated);

  // Keys and values are (1, kv_heads, q, head_dim). Returns all slots of the layer; for a rotated
  // local layer with q > 1 its previous slots followed by the new ones, since the first queries see
  // keys that the last ones have dropped.
  std::pair<array::Array, array::Array> update(int64_t layer, const array::Array& keys,
                                               const array::Array& values,
                                               const Pass& pass) override;

 private:
  struct Buffer {
    array::State state;
    int64_t num_layers;                                  // rows of keys
    std::optional<array::Array> content = std::nullopt;  // as last read
  };
  void write_slots(Buffer& buffer, int64_t row, const array::Array& values);
  std::pair<array::Array, array::Array> rotate(Buffer& buffer, int64_t row,
                                               const array::Array& keys,
                                               const array::Array& values);
  array::Array row_of(const Buffer& buffer, int64_t row, int64_t heads) const;
  void write(Buffer& buffer, const array::Array& values, const array::Array& begin,
             const array::Array& end);

  FixedCacheShape shape_;
  array::Array position_;
  bool rotated_;
  std::vector<Buffer> buffers_;
  std::optional<array::Array> stop_;  // position + q
};

}  // namespace pippin::nn
