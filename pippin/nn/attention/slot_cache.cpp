#include "pippin/nn/attention/slot_cache.h"

#include "pippin/array/ops.h"

namespace pippin::nn {

using array::Array;

SlotCache::SlotCache(Array keys, Array values, const Array& place, int64_t num_kv_heads,
                     int64_t head_dim)
    : keys_(std::move(keys)),
      values_(std::move(values)),
      place_(array::expand_dims(place, {1, 2})),
      others_(place_ * -1.0 + 1.0),
      num_kv_heads_(num_kv_heads),
      head_dim_(head_dim) {}

Array SlotCache::merged(const Array& old, int64_t layer, const Array& added) const {
  const int64_t width = num_kv_heads_ * head_dim_;
  const Array own = array::slice_axis(old, 1, layer * width, (layer + 1) * width);
  return array::reshape(own * others_ + added * place_, {1, num_kv_heads_, head_dim_, old.dim(3)});
}

std::pair<Array, Array> SlotCache::update(int64_t layer, const Array& keys, const Array& values,
                                          const Pass& /*pass*/) {
  new_keys_.push_back(array::reshape(keys, {1, num_kv_heads_ * head_dim_, 1, 1}));
  new_values_.push_back(values);
  const Array all_keys = merged(keys_, layer, new_keys_.back());
  return {all_keys, merged(values_, layer, values)};
}

Array SlotCache::new_keys() const {
  return array::concat(new_keys_, 1);
}

Array SlotCache::new_values() const {
  return array::concat(new_values_, 1);
}

}  // namespace pippin::nn
