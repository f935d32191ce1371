// The cache of the `stateful` package family: states that Core ML keeps for a sequence.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pippin/array/array.h"
#include "pippin/array/builder.h"
#include "pippin/array/ops.h"
#include "pippin/nn/layers/cache.h"
#include "pippin/nn/layers/mixer.h"

namespace pippin::nn {

// keyCache and valueCache, (layers, 1, kv_heads, context, head_dim), of the layers that have keys
// and values, keyCache alone where values are a part of the keys; keyCache2 and valueCache2
// likewise of layers whose heads have another size than those of the first, and so on; indexCache
// of the keys that indexers have, and indexCache2 of those of another size; a state for each name
// of a CarriedState, (layers, its shape), of those that carry it. Rows are in the order of the
// layers.
struct StatefulCacheShape {
  // `prefix`: of the states' names. Throws Unsupported if layers carry a state of one name in two
  // shapes.
  StatefulCacheShape(const std::vector<MixerNeeds>& layers, int64_t context,
                     std::string prefix = "");

  struct StateShape {
    std::string name;
    std::vector<int64_t> dims;
    std::map<int64_t, int64_t> rows;  // by layer
  };
  std::string prefix;
  std::vector<StateShape> states;  // their names without the prefix
};

class StatefulCache : public Cache {
 public:
  // Declares the states.
  StatefulCache(array::Builder& builder, mil::DataType type, const StatefulCacheShape& shape);

  // Writes keys and values (1, kv_heads, q, head_dim) to slots [past, end) of a layer and returns
  // its slots [0, end). Written as slice_update, write_state, read_state, slice: engines turn it
  // into a write in place. A layer with fewer heads than the states uses the first ones.
  std::pair<array::Array, array::Array> update(int64_t layer, const array::Array& keys,
                                               const array::Array& values,
                                               const Pass& pass) override;
  array::Array update_keys(int64_t layer, const array::Array& keys, const Pass& pass) override;
  array::Array update_index(int64_t layer, const array::Array& keys, const Pass& pass) override;
  std::pair<array::Array, array::Array> seen(int64_t layer) const override {
    return seen_.at(layer);
  }
  array::Array carried(int64_t layer, const CarriedState& state) override;
  void carry(int64_t layer, const CarriedState& state, const array::Array& value) override;

 private:
  struct Buffer {
    array::State state;
    std::map<int64_t, int64_t> rows;
    std::optional<array::Array> content = std::nullopt;  // as last read

    const array::Array& read();
    void write(const array::Array& values, const std::vector<array::Index>& place);
  };
  Buffer& buffer(const std::string& name) { return buffers_.at(name); }
  // The buffer of keys or of values that has a row for the layer.
  Buffer& buffer_of(const char* name, int64_t layer);
  void write_rows(int64_t layer, Buffer& own, const array::Array& rows, const Pass& pass);
  array::Array rows_of(int64_t layer, Buffer& own, const mil::Dim& heads, const Pass& pass);

  std::map<std::string, Buffer> buffers_;
  std::map<int64_t, std::pair<array::Array, array::Array>> seen_;
};

}  // namespace pippin::nn
