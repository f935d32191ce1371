#include "pippin/nn/attention/stateful_cache.h"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/ranges.h>

#include "pippin/array/ops.h"
#include "pippin/base/error.h"
#include "pippin/families/stateful.h"

namespace pippin::nn {
namespace {

using array::Array;
using array::Index;

constexpr size_t kHeadAxis = 2;

Index heads_index(const array::State& state, const mil::Dim& heads) {
  return heads == state.info().shape[kHeadAxis] ? Index::all() : Index::range(0, heads);
}

// "keyCache", "keyCache2", ...
std::string numbered(const char* name, size_t number) {
  return number == 0 ? name : name + std::to_string(number + 1);
}

}  // namespace

StatefulCacheShape::StatefulCacheShape(const std::vector<MixerNeeds>& layers, int64_t context,
                                       std::string names)
    : prefix(std::move(names)) {
  // Shapes of keys and of values, by the sizes of their heads; values of 0 elements are included.
  std::vector<std::pair<StateShape, StateShape>> caches;
  std::vector<StateShape> indices;  // by their sizes
  std::vector<StateShape> carried;
  for (size_t i = 0; i < layers.size(); ++i) {
    const MixerNeeds& layer = layers[i];
    if (layer.kv_heads > 0 && layer.stored) {
      const int64_t values = layer.value_size();
      auto own = std::find_if(caches.begin(), caches.end(), [&](const auto& cache) {
        return cache.first.dims[4] == layer.head_dim && cache.second.dims[4] == values;
      });
      if (own == caches.end()) {
        const size_t number = caches.size();
        const StateShape keys{
            numbered(families::stateful::kKeys, number), {0, 1, 0, context, layer.head_dim}, {}};
        const StateShape rest{
            numbered(families::stateful::kValues, number), {0, 1, 0, context, values}, {}};
        own = caches.insert(own, {keys, rest});
      }
      for (StateShape* state : {&own->first, &own->second}) {
        state->rows[static_cast<int64_t>(i)] = state->dims[0]++;
        state->dims[2] = std::max(state->dims[2], layer.kv_heads);
      }
    }
    if (layer.index_dim > 0) {
      auto own = std::find_if(indices.begin(), indices.end(), [&](const StateShape& index) {
        return index.dims[4] == layer.index_dim;
      });
      if (own == indices.end()) {
        const std::string name = numbered(families::stateful::kIndex, indices.size());
        own = indices.insert(own, {name, {0, 1, 1, context, layer.index_dim}, {}});
      }
      own->rows[static_cast<int64_t>(i)] = own->dims[0]++;
    }
    for (const CarriedState& state : layer.states) {
      auto own = std::find_if(carried.begin(), carried.end(),
                              [&](const StateShape& other) { return other.name == state.name; });
      if (own == carried.end()) {
        own = carried.insert(own, {state.name, {0}, {}});
        own->dims.insert(own->dims.end(), state.shape.begin(), state.shape.end());
      }
      if (!std::equal(state.shape.begin(), state.shape.end(), own->dims.begin() + 1,
                      own->dims.end())) {
        fail(ErrorCode::Unsupported, "layer {} carries '{}' in shape [{}], others in [{}]", i,
             state.name, fmt::join(state.shape, ", "),
             fmt::join(own->dims.begin() + 1, own->dims.end(), ", "));
      }
      own->rows[static_cast<int64_t>(i)] = own->dims[0]++;
    }
  }
  for (const auto& [keys, values] : caches) {
    states.push_back(keys);
    if (values.dims[4] > 0) states.push_back(values);
  }
  states.insert(states.end(), indices.begin(), indices.end());
  states.insert(states.end(), carried.begin(), carried.end());
}

StatefulCache::StatefulCache(array::Builder& builder, mil::DataType type,
                             const StatefulCacheShape& shape) {
  for (const auto& state : shape.states) {
    buffers_.emplace(
        state.name, Buffer{builder.state(shape.prefix + state.name, type, state.dims), state.rows});
  }
}

StatefulCache::Buffer& StatefulCache::buffer_of(const char* name, int64_t layer) {
  size_t number = 0;
  while (!buffer(numbered(name, number)).rows.contains(layer)) ++number;
  return buffer(numbered(name, number));
}

const Array& StatefulCache::Buffer::read() {
  if (!content) content = array::read_state(state);
  return *content;
}

void StatefulCache::Buffer::write(const Array& values, const std::vector<Index>& place) {
  array::write_state(state, array::slice_update(read(), values, place));
  content = array::read_state(state);
}

void StatefulCache::write_rows(int64_t layer, Buffer& own, const Array& rows, const Pass& pass) {
  own.write(rows, {Index::at(own.rows.at(layer)), Index::all(), heads_index(own.state, rows.dim(1)),
                   Index::range(pass.past, pass.end)});
}

Array StatefulCache::rows_of(int64_t layer, Buffer& own, const mil::Dim& heads, const Pass& pass) {
  return array::slice(own.read(), {Index::at(own.rows.at(layer)), Index::all(),
                                   heads_index(own.state, heads), Index::range(0, pass.end)});
}

std::pair<Array, Array> StatefulCache::update(int64_t layer, const Array& keys, const Array& values,
                                              const Pass& pass) {
  Buffer& all_keys = buffer_of(families::stateful::kKeys, layer);
  Buffer& all_values = buffer_of(families::stateful::kValues, layer);
  write_rows(layer, all_keys, keys, pass);
  write_rows(layer, all_values, values, pass);
  const Array named = array::named(rows_of(layer, all_keys, keys.dim(1), pass), "keys");
  std::pair seen{named, array::named(rows_of(layer, all_values, values.dim(1), pass), "values")};
  seen_.insert_or_assign(layer, seen);
  return seen;
}

Array StatefulCache::update_keys(int64_t layer, const Array& keys, const Pass& pass) {
  Buffer& own = buffer_of(families::stateful::kKeys, layer);
  write_rows(layer, own, keys, pass);
  return array::named(rows_of(layer, own, keys.dim(1), pass), "keys");
}

Array StatefulCache::update_index(int64_t layer, const Array& keys, const Pass& pass) {
  Buffer& own = buffer_of(families::stateful::kIndex, layer);
  write_rows(layer, own, keys, pass);
  return array::named(rows_of(layer, own, keys.dim(1), pass), "index");
}

Array StatefulCache::carried(int64_t layer, const CarriedState& state) {
  Buffer& own = buffer(state.name);
  return array::slice(own.read(), {Index::at(own.rows.at(layer))});
}

void StatefulCache::carry(int64_t layer, const CarriedState& state, const Array& value) {
  Buffer& own = buffer(state.name);
  own.write(value, {Index::at(own.rows.at(layer))});
}

}  // namespace pippin::nn
