#include "pippin/nn/attention.h"

#include <cmath>

#include "pippin/array/ops.h"

namespace pippin::nn {

using array::Index;

KVCache::KVCache(array::Builder& builder, mil::DataType type, int64_t num_layers,
                 int64_t num_kv_heads, int64_t context, int64_t head_dim)
    : keys_{builder.state("keyCache", type, {num_layers, 1, num_kv_heads, context, head_dim})},
      values_{builder.state("valueCache", type, {num_layers, 1, num_kv_heads, context, head_dim})} {
}

void KVCache::Buffer::write(int64_t layer, const array::Array& rows, const Pass& pass) {
  if (!content) content = array::read_state(state);
  array::write_state(state, array::slice_update(*content, rows,
                                                {Index::at(layer), Index::all(), Index::all(),
                                                 Index::range(pass.past, pass.end)}));
  content = array::read_state(state);
}

std::pair<array::Array, array::Array> KVCache::update(int64_t layer, const array::Array& keys,
                                                      const array::Array& values,
                                                      const Pass& pass) {
  keys_.write(layer, keys, pass);
  values_.write(layer, values, pass);
  const std::vector<Index> seen = {Index::at(layer), Index::all(), Index::all(),
                                   Index::range(0, pass.end)};
  return {array::named(array::slice(*keys_.content, seen), "keys"),
          array::named(array::slice(*values_.content, seen), "values")};
}

Attention::Attention(const Parameters& parameters, const AttentionOptions& options)
    : path_(parameters.path()),
      options_(options),
      q_(parameters.at("q_proj"), options.features, options.num_heads * options.head_dim,
         options.qkv_bias),
      k_(parameters.at("k_proj"), options.features, options.num_kv_heads * options.head_dim,
         options.qkv_bias),
      v_(parameters.at("v_proj"), options.features, options.num_kv_heads * options.head_dim,
         options.qkv_bias),
      o_(parameters.at("o_proj"), options.num_heads * options.head_dim, options.features,
         options.output_bias) {}

array::Array Attention::split_heads(const array::Array& x, int64_t heads) const {
  return array::transpose(array::reshape(x, {1, x.dim(1), heads, options_.head_dim}), {0, 2, 1, 3});
}

array::Array Attention::expand_heads(const array::Array& x) const {
  const int64_t group = options_.num_heads / options_.num_kv_heads;
  if (group == 1) return x;
  const array::Array tiled = array::tile(array::expand_dims(x, {2}), {1, 1, group, 1, 1});
  return array::reshape(tiled, {1, options_.num_heads, x.dim(2), options_.head_dim});
}

array::Array Attention::operator()(const array::Array& x, int64_t layer, const Rope& rope,
                                   const Rotation& rotation, KVCache& cache,
                                   const Pass& pass) const {
  const array::Scope scope(path_);
  array::Array queries = rope.apply(split_heads(q_(x), options_.num_heads), rotation);
  const array::Array new_keys = rope.apply(split_heads(k_(x), options_.num_kv_heads), rotation);
  const array::Array new_values = split_heads(v_(x), options_.num_kv_heads);
  const auto [keys, values] = cache.update(layer, new_keys, new_values, pass);
  if (options_.scale) {
    // The op divides by sqrt(head_dim) itself.
    queries = queries * (*options_.scale * std::sqrt(static_cast<double>(options_.head_dim)));
  }
  const array::Array attended = array::scaled_dot_product_attention(
      queries, expand_heads(keys), expand_heads(values), pass.mask);
  const array::Array merged = array::reshape(array::transpose(attended, {0, 2, 1, 3}),
                                             {1, x.dim(1), options_.num_heads * options_.head_dim});
  return o_(merged);
}

}  // namespace pippin::nn
