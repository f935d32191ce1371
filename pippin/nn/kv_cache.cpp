#include "pippin/nn/kv_cache.h"

#include "pippin/array/ops.h"

namespace pippin::nn {
namespace {

using array::Index;

constexpr size_t kHeadAxis = 2;

Index heads_index(const array::State& state, const mil::Dim& heads) {
  return heads == state.info().shape[kHeadAxis] ? Index::all() : Index::range(0, heads);
}

}  // namespace

StatefulCache::StatefulCache(array::Builder& builder, mil::DataType type, int64_t num_layers,
                             int64_t num_kv_heads, int64_t context, int64_t head_dim)
    : keys_{builder.state("keyCache", type, {num_layers, 1, num_kv_heads, context, head_dim})},
      values_{builder.state("valueCache", type, {num_layers, 1, num_kv_heads, context, head_dim})} {
}

void StatefulCache::Buffer::write(int64_t layer, const array::Array& rows, const Pass& pass) {
  if (!content) content = array::read_state(state);
  const Index heads = heads_index(state, rows.dim(1));
  array::write_state(state, array::slice_update(*content, rows,
                                                {Index::at(layer), Index::all(), heads,
                                                 Index::range(pass.past, pass.end)}));
  content = array::read_state(state);
}

array::Array StatefulCache::Buffer::read(int64_t layer, const mil::Dim& heads,
                                         const Pass& pass) const {
  return array::slice(*content, {Index::at(layer), Index::all(), heads_index(state, heads),
                                 Index::range(0, pass.end)});
}

std::pair<array::Array, array::Array> StatefulCache::update(int64_t layer, const array::Array& keys,
                                                            const array::Array& values,
                                                            const Pass& pass) {
  keys_.write(layer, keys, pass);
  values_.write(layer, values, pass);
  const array::Array all_keys = array::named(keys_.read(layer, keys.dim(1), pass), "keys");
  return {all_keys, array::named(values_.read(layer, values.dim(1), pass), "values")};
}

}  // namespace pippin::nn
