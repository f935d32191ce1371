#include "pippin/nn/attention/window_cache.h"

#include "pippin/array/ops.h"
#include "pippin/families/windowed.h"

namespace pippin::nn {

using array::Array;

WindowCache::WindowCache(array::Builder& builder, mil::DataType type, int64_t first, int64_t count,
                         int64_t num_kv_heads, int64_t head_dim, int64_t slots)
    : first_(first), num_kv_heads_(num_kv_heads), head_dim_(head_dim), slots_(slots) {
  const mil::Shape shape = {1, num_kv_heads * head_dim, 1, slots};
  for (int64_t i = 0; i < count; ++i) {
    const Array keys = builder.input(families::windowed::key_cache(i), type, shape);
    const Array values = builder.input(families::windowed::value_cache(i), type, shape);
    layers_.push_back({keys, values});
  }
}

Array WindowCache::append(const Array& old, const Array& heads) const {
  const Array split = array::reshape(old, {1, num_kv_heads_, head_dim_, slots_});
  return array::concat({split, heads}, -1);
}

std::pair<Array, Array> WindowCache::update(int64_t layer, const Array& keys, const Array& values,
                                            const Pass&) {
  Layer& own = layers_.at(static_cast<size_t>(layer - first_));
  const mil::Dim& tokens = keys.dim(3);
  own.updated.emplace(array::reshape(keys, {1, num_kv_heads_ * head_dim_, 1, tokens}), values);
  const Array all_keys = append(own.old_keys, keys);
  const Array heads = array::reshape(values, {1, num_kv_heads_, head_dim_, tokens});
  return {all_keys, append(own.old_values, heads)};
}

const std::pair<Array, Array>& WindowCache::updated(int64_t layer) const {
  return layers_.at(static_cast<size_t>(layer - first_)).updated.value();
}

}  // namespace pippin::nn
