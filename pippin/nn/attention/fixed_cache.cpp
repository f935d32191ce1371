#include "pippin/nn/attention/fixed_cache.h"

#include <algorithm>

#include "pippin/array/ops.h"
#include "pippin/families/anemll.h"

namespace pippin::nn {

using array::Array;
using array::Index;

namespace {

Array ints(const std::vector<int64_t>& values) {
  return array::constant(std::span<const int64_t>(values));
}

}  // namespace

std::vector<FixedCacheShape::StateShape> FixedCacheShape::states() const {
  const auto total = static_cast<int64_t>(local_layers.size());
  if (window == 0) {
    return {{families::anemll::kCache, {2 * total, num_kv_heads, context, head_dim}}};
  }
  const int64_t local = std::count(local_layers.begin(), local_layers.end(), true);
  return {{families::anemll::kLocalCache, {2 * local, num_kv_heads, window, head_dim}},
          {families::anemll::kGlobalCache, {2 * (total - local), num_kv_heads, context, head_dim}}};
}

FixedCache::FixedCache(array::Builder& builder, mil::DataType type, const FixedCacheShape& shape,
                       const Array& position, bool rotated)
    : shape_(shape), position_(position), rotated_(rotated) {
  for (const auto& state : shape.states()) {
    buffers_.push_back({builder.state(state.name, type, state.dims), state.dims[0] / 2});
  }
}

void FixedCache::write(Buffer& buffer, const Array& values, const Array& begin, const Array& end) {
  if (!buffer.content) buffer.content = array::read_state(buffer.state);
  const std::vector<bool> none(4, false);
  const Array updated = array::record_one("slice_update", {{"x", *buffer.content},
                                                           {"update", values},
                                                           {"begin", begin},
                                                           {"end", end},
                                                           {"stride", std::vector<int64_t>(4, 1)},
                                                           {"begin_mask", none},
                                                           {"end_mask", none},
                                                           {"squeeze_mask", none}});
  array::write_state(buffer.state, updated);
  buffer.content = array::read_state(buffer.state);
}

Array FixedCache::row_of(const Buffer& buffer, int64_t row, int64_t heads) const {
  const Index all_heads = heads == shape_.num_kv_heads ? Index::all() : Index::range(0, heads);
  return array::slice(*buffer.content, {Index::range(row, row + 1), all_heads});
}

void FixedCache::write_slots(Buffer& buffer, int64_t row, const Array& values) {
  const int64_t heads = values.dim(1).constant(), tokens = values.dim(2).constant();
  if (!stop_) {
    const array::Scope global("");  // shared by all layers
    stop_ = array::named(position_ + array::constant(static_cast<int32_t>(tokens)), "stop");
  }
  const Array begin = array::concat({ints({row, 0}), position_, ints({0})}, 0);
  const Array end = array::concat({ints({row + 1, heads}), *stop_, ints({shape_.head_dim})}, 0);
  write(buffer, values, begin, end);
}

std::pair<Array, Array> FixedCache::rotate(Buffer& buffer, int64_t row, const Array& keys,
                                           const Array& values) {
  const int64_t heads = keys.dim(1).constant(), tokens = keys.dim(2).constant();
  if (!buffer.content) buffer.content = array::read_state(buffer.state);
  const int64_t rows[] = {row, buffer.num_layers + row};
  std::vector<Array> all, kept;
  for (const int64_t at : rows) {
    const Array old = row_of(buffer, at, heads);
    all.push_back(array::concat({old, at == row ? keys : values}, 2));
    kept.push_back(array::slice_axis(all.back(), 2, tokens, shape_.window + tokens));
  }
  for (size_t i = 0; i < 2; ++i) {
    write(buffer, kept[i], ints({rows[i], 0, 0, 0}),
          ints({rows[i] + 1, heads, shape_.window, shape_.head_dim}));
  }
  return tokens == 1 ? std::pair(kept[0], kept[1]) : std::pair(all[0], all[1]);
}

std::pair<Array, Array> FixedCache::update(int64_t layer, const Array& keys, const Array& values,
                                           const Pass&) {
  const bool local = shape_.is_local(layer);
  Buffer& buffer = buffers_.at(shape_.window > 0 && !local ? 1 : 0);
  const auto begin = shape_.local_layers.begin();
  const int64_t row = shape_.window == 0 ? layer : std::count(begin, begin + layer, local);
  if (rotated_ && local) return rotate(buffer, row, keys, values);
  write_slots(buffer, row, keys);
  write_slots(buffer, buffer.num_layers + row, values);
  // One read of the state serves both.
  const int64_t heads = keys.dim(1).constant();
  const Array all_keys = array::named(row_of(buffer, row, heads), "keys");
  return {all_keys, array::named(row_of(buffer, buffer.num_layers + row, heads), "values")};
}

}  // namespace pippin::nn
