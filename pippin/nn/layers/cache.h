// The data that a sequence keeps from one pass to the next. Each package family has its own form:
// nn/attention/stateful_cache.h, nn/attention/fixed_cache.h, nn/attention/window_cache.h.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "pippin/array/array.h"
#include "pippin/nn/layers/pass.h"

namespace pippin::nn {

// A state of fixed size of a layer: zeros at the start, replaced by every pass. Layers with a state
// of the same name have the same shape.
struct CarriedState {
  std::string name;
  std::vector<int64_t> shape;
};

class Cache {
 public:
  virtual ~Cache() = default;
  // Adds the new keys and values of a layer and returns all that its queries may see. Layers are
  // updated in any order, each once.
  virtual std::pair<array::Array, array::Array> update(int64_t layer, const array::Array& keys,
                                                       const array::Array& values,
                                                       const Pass& pass) = 0;
  // The same for a layer whose values are a part of its keys. Unsupported as below.
  virtual array::Array update_keys(int64_t layer, const array::Array& keys, const Pass& pass);
  // The same for the keys by which an indexer chooses (nn/attention/indexer.h). Unsupported as
  // below.
  virtual array::Array update_index(int64_t layer, const array::Array& keys, const Pass& pass);
  // The result of update() for a layer. Unsupported as below.
  virtual std::pair<array::Array, array::Array> seen(int64_t layer) const;
  // A layer's state after the last pass, and after this one. Unsupported by families that keep keys
  // and values only; the recorder of such a family checks its layers first.
  virtual array::Array carried(int64_t layer, const CarriedState& state);
  virtual void carry(int64_t layer, const CarriedState& state, const array::Array& value);
};

}  // namespace pippin::nn
