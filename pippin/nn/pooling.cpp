#include "pippin/nn/pooling.h"

#include <vector>

#include "pippin/array/builder.h"
#include "pippin/array/ops.h"

namespace pippin::nn {

using array::Array;
using array::Index;

namespace {

constexpr double kBelowAll = -1e9;  // below any state
constexpr double kTiny = 1e-9;      // no number of tokens

Array column(const Array& weights) {
  return array::expand_dims(weights, {2});
}

// The states times their weights (batch, length), added up.
Array weighted(const Array& states, const Array& weights) {
  return array::reduce_sum(states * column(weights), {1});
}

Array sum_of(const Array& weights) {
  return array::maximum(array::reduce_sum(weights, {1}, /*keep_dims=*/true), kTiny);
}

}  // namespace

int64_t count(const PoolingOptions& options) {
  int64_t result = 0;
  for (const bool way : {options.first, options.max, options.mean, options.mean_sqrt,
                         options.weighted_mean, options.last}) {
    result += way ? 1 : 0;
  }
  return result;
}

Array pool(const PoolingOptions& options, const Array& states, const Array& mask) {
  const array::Scope scope("pooling");
  const mil::DataType type = states.type();
  std::vector<Array> results;
  const Array tokens = array::cast(mask, type);
  const auto positions = [&] {
    return array::range(array::constant(0), array::Builder::current().dim_array(mask.dim(1)));
  };
  if (options.first) {
    results.push_back(array::slice(states, {Index::all(), Index::at(0)}));
  }
  if (options.max) {
    const Array low = column((tokens - 1.0) * -kBelowAll);
    results.push_back(array::reduce_max(states + low, {1}));
  }
  if (options.mean) results.push_back(weighted(states, tokens) / sum_of(tokens));
  if (options.mean_sqrt) {
    results.push_back(weighted(states, tokens) / array::sqrt(sum_of(tokens)));
  }
  if (options.weighted_mean) {
    const Array numbers = array::cast(positions() + array::constant(1), type);
    const Array weights = tokens * array::expand_dims(numbers, {0});
    results.push_back(weighted(states, weights) / sum_of(weights));
  }
  if (options.last) {
    const Array numbers = array::expand_dims(positions(), {0});
    const Array last = array::reduce_max(numbers * mask, {1}, /*keep_dims=*/true);
    results.push_back(weighted(states, array::cast(array::equal(numbers, last), type)));
  }
  return array::named(results.size() == 1 ? results[0] : array::concat(results, -1), "");
}

Array to_length_one(const Array& x) {
  const array::Scope scope("normalize");
  const Array squares = array::reduce_sum(x * x, {-1}, /*keep_dims=*/true);
  return array::named(x / array::maximum(array::sqrt(squares), 1e-12), "");
}

}  // namespace pippin::nn
