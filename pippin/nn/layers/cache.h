// What a sequence keeps from one pass to the next. Each package family keeps it in a form of its
// own: nn/attention/stateful_cache.h, nn/attention/fixed_cache.h, nn/attention/window_cache.h.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "pippin/array/array.h"
#include "pippin/nn/layers/pass.h"

namespace pippin::nn {

// Something of a fixed size that a layer keeps: zeros at the start, replaced by every pass. Layers
// that keep one of the same name keep it in the same shape.
struct CarriedState {
  std::string name;
  std::vector<int64_t> shape;
};

class Cache {
 public:
  virtual ~Cache() = default;
  // Takes the new keys and values of a layer and returns all that its queries may see. Layers are
  // updated in any order, each once.
  virtual std::pair<array::Array, array::Array> update(int64_t layer, const array::Array& keys,
                                                       const array::Array& values,
                                                       const Pass& pass) = 0;
  // The same for a layer whose values are a part of its keys. Unsupported as below.
  virtual array::Array update_keys(int64_t layer, const array::Array& keys, const Pass& pass);
  // The same of the keys by which an indexer chooses (nn/attention/indexer.h). Unsupported as
  // below.
  virtual array::Array update_index(int64_t layer, const array::Array& keys, const Pass& pass);
  // What update() returned for a layer. Unsupported as below.
  virtual std::pair<array::Array, array::Array> seen(int64_t layer) const;
  // What the last pass left of a layer's state, and what this one leaves. Unsupported by families
  // that keep keys and values only; who records for one checks its layers before.
  virtual array::Array carried(int64_t layer, const CarriedState& state);
  virtual void carry(int64_t layer, const CarriedState& state, const array::Array& value);
};

}  // namespace pippin::nn
