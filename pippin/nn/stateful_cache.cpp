#include "pippin/nn/stateful_cache.h"

#include <algorithm>

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

}  // namespace

StatefulCacheShape::StatefulCacheShape(const std::vector<MixerNeeds>& layers, int64_t context) {
  StateShape keys{families::stateful::kKeys, {0, 1, 0, context, 0}, {}};
  std::vector<StateShape> carried;
  bool with_values = true;
  for (size_t i = 0; i < layers.size(); ++i) {
    const MixerNeeds& layer = layers[i];
    if (layer.kv_heads > 0 && layer.stored) {
      if (keys.dims[0] > 0 && layer.head_dim != keys.dims[4]) {
        fail(ErrorCode::Unsupported,
             "layer {} has heads of {} elements, others of {}: the stateful family has one size", i,
             layer.head_dim, keys.dims[4]);
      }
      if (layer.values != with_values) {
        if (keys.dims[0] > 0) {
          fail(ErrorCode::Unsupported,
               "layer {} keeps {} values beside its keys, others do: the stateful family has one "
               "form",
               i, layer.values ? "its" : "no");
        }
        with_values = layer.values;
      }
      keys.rows[static_cast<int64_t>(i)] = keys.dims[0]++;
      keys.dims[2] = std::max(keys.dims[2], layer.kv_heads);
      keys.dims[4] = layer.head_dim;
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
  if (keys.dims[0] > 0) {
    states.push_back(keys);
    if (with_values) {
      states.push_back(keys);
      states.back().name = families::stateful::kValues;
    }
  }
  states.insert(states.end(), carried.begin(), carried.end());
}

StatefulCache::StatefulCache(array::Builder& builder, mil::DataType type,
                             const StatefulCacheShape& shape) {
  for (const auto& state : shape.states) {
    buffers_.emplace(state.name, Buffer{builder.state(state.name, type, state.dims), state.rows});
  }
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
  Buffer& all_keys = buffer(families::stateful::kKeys);
  Buffer& all_values = buffer(families::stateful::kValues);
  write_rows(layer, all_keys, keys, pass);
  write_rows(layer, all_values, values, pass);
  const Array named = array::named(rows_of(layer, all_keys, keys.dim(1), pass), "keys");
  std::pair seen{named, array::named(rows_of(layer, all_values, values.dim(1), pass), "values")};
  seen_.insert_or_assign(layer, seen);
  return seen;
}

Array StatefulCache::update_keys(int64_t layer, const Array& keys, const Pass& pass) {
  Buffer& own = buffer(families::stateful::kKeys);
  write_rows(layer, own, keys, pass);
  return array::named(rows_of(layer, own, keys.dim(1), pass), "keys");
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
