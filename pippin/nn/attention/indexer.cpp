#include "pippin/nn/attention/indexer.h"

#include <cmath>
#include <limits>
#include <vector>

#include "pippin/array/ops.h"
#include "pippin/nn/attention/best_keys.h"
#include "pippin/nn/layers/rope.h"

namespace pippin::nn {
namespace {

using array::Array;

std::vector<int64_t> order_of(const IndexerOptions& options) {
  return deinterleaved(options.head_dim, options.interleaved ? options.rope_dims : 0);
}

WeightLayout rows_of_heads(const IndexerOptions& options, int64_t heads) {
  WeightLayout layout;
  if (!options.interleaved) return layout;
  for (int64_t head = 0; head < heads; ++head) {
    for (const int64_t dim : order_of(options)) {
      layout.rows.push_back(head * options.head_dim + dim);
    }
  }
  return layout;
}

// A vector of the norm of keys, in the order of their rows.
Array norm_values(const Parameters& parameters, const char* name, const IndexerOptions& options) {
  const Parameters at = parameters.at("k_norm");
  return at.made(name, {options.head_dim}, [&](const std::string& full) {
    const std::vector<double> stored = at.values(name, {options.head_dim});
    std::vector<double> values;
    for (const int64_t dim : order_of(options)) values.push_back(stored[static_cast<size_t>(dim)]);
    return array::constant(parameters.type(), {options.head_dim}, values, full);
  });
}

}  // namespace

Indexer::Indexer(const Parameters& parameters, const IndexerOptions& options)
    : path_(parameters.path()),
      options_(options),
      queries_(parameters.at("wq_b"), options.query_features, options.heads * options.head_dim,
               false, rows_of_heads(options, options.heads)),
      keys_(parameters.at("wk"), options.features, options.head_dim, false,
            rows_of_heads(options, 1)),
      weights_(parameters.at("weights_proj"), options.features, options.heads),
      norm_weight_(norm_values(parameters, "weight", options)),
      norm_bias_(norm_values(parameters, "bias", options)) {}

// (1, heads, q, head_dim).
Array Indexer::heads_of(const Array& x, int64_t heads, const Rotation& rotation) const {
  const Array split = array::reshape(x, {1, x.dim(1), heads, options_.head_dim});
  return rotate(array::transpose(split, {0, 2, 1, 3}), rotation);
}

Array Indexer::operator()(const Array& x, const Array& narrow, const MixerInput& input) const {
  const array::Scope scope(path_);
  const Array key = array::layer_norm(keys_(x), {-1}, norm_weight_, norm_bias_, 1e-6);
  const Array keys =
      input.cache.update_index(input.layer, heads_of(key, 1, *input.rotation), input.pass);
  const Array queries = heads_of(queries_(narrow), options_.heads, *input.rotation);
  const Array products = array::relu(array::matmul(queries, keys, false, /*transpose_y=*/true));
  const double scale = 1 / std::sqrt(static_cast<double>(options_.heads * options_.head_dim));
  const Array weights = array::expand_dims(array::transpose(weights_(x), {0, 2, 1}), {3}) * scale;
  const Array sums = array::reduce_sum(products * weights, {1}, /*keep_dims=*/true);
  const Array scores = sums + *input.mask;
  const Array least = kth_largest(scores, options_.top_k, path_);
  const Array never = array::constant(x.type(), -std::numeric_limits<double>::infinity());
  return array::select(array::greater_equal(scores, least), *input.mask, never);
}

}  // namespace pippin::nn
