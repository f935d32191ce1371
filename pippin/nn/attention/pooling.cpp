#include "pippin/nn/attention/pooling.h"

#include <vector>

#include "pippin/array/builder.h"
#include "pippin/array/ops.h"

namespace pippin::nn {

using array::Array;
using array::Index;

namespace {

constexpr double kBelowAll = -1e9;  // below any state
constexpr double kTiny = 1e-9;      // smaller than any number of tokens

Array column(const Array& weights) {
  return array::expand_dims(weights, {2});
}

// The states times their weights (batch, length), summed.
Array weighted(const Array& states, const Array& weights) {
  return array::reduce_sum(states * column(weights), {1});
}

Array sum_of(const Array& weights) {
  return array::maximum(array::reduce_sum(weights, {1}, /*keep_dims=*/true), kTiny);
}

}  // namespace

namespace {

Array pool_by(Pooling way, const Array& states, const Array& mask) {
  const mil::DataType type = states.type();
  const Array tokens = array::cast(mask, type);
  const auto positions = [&] {
    return array::range(array::constant(0), array::Builder::current().dim_array(mask.dim(1)));
  };
  switch (way) {
    case Pooling::First:
      return array::slice(states, {Index::all(), Index::at(0)});
    case Pooling::Max: {
      const Array low = column((tokens - 1.0) * -kBelowAll);
      return array::reduce_max(states + low, {1});
    }
    case Pooling::Mean:
      return weighted(states, tokens) / sum_of(tokens);
    case Pooling::MeanSqrt:
      return weighted(states, tokens) / array::sqrt(sum_of(tokens));
    case Pooling::WeightedMean: {
      const Array numbers = array::cast(positions() + array::constant(1), type);
      const Array weights = tokens * array::expand_dims(numbers, {0});
      return weighted(states, weights) / sum_of(weights);
    }
    case Pooling::Last:
      break;
  }
  const Array numbers = array::expand_dims(positions(), {0});
  const Array last = array::reduce_max(numbers * mask, {1}, /*keep_dims=*/true);
  return weighted(states, array::cast(array::equal(numbers, last), type));
}

}  // namespace

Array pool(const PoolingOptions& options, const Array& states, const Array& mask) {
  const array::Scope scope("pooling");
  std::vector<Array> results;
  results.reserve(options.size());
  for (const Pooling way : options) results.push_back(pool_by(way, states, mask));
  return array::named(results.size() == 1 ? results[0] : array::concat(results, -1), "");
}

Array splade_pool(const SpladeOptions& options, const Array& logits, const Array& mask) {
  const array::Scope scope("splade");
  const auto log1p = [](const Array& x) { return array::record_one("log", {{"x", x + 1.0}}); };
  const auto saturated = [&](const Array& x) {
    const Array once = log1p(array::relu(x));
    return options.twice ? log1p(once) : once;
  };
  const Array seen = logits * column(array::cast(mask, logits.type()));
  // Which token has the largest does not depend on the logarithm.
  return options.sum ? array::reduce_sum(saturated(seen), {1})
                     : saturated(array::reduce_max(seen, {1}));
}

Array end_marks(const Array& ids, int32_t token) {
  const array::Scope scope("end");
  const mil::DataType type = mil::DataType::Int32;
  const Array one = array::constant(1);
  const Array end =
      token < 0 ? array::reduce_max(ids, {1}, /*keep_dims=*/true) : array::constant(token);
  const Array is_end = array::cast(array::equal(ids, end), type);
  const Array running = array::record_one("cumsum", {{"x", is_end}, {"axis", int64_t{1}}});
  const Array first = is_end * array::cast(array::equal(running, one), type);
  const Array none = one - array::reduce_max(first, {1}, /*keep_dims=*/true);
  const Array positions =
      array::range(array::constant(0), array::Builder::current().dim_array(ids.dim(1)));
  const Array at_start = array::cast(array::equal(positions, array::constant(0)), type);
  return first + none * array::expand_dims(at_start, {0});
}

Array to_length_one(const Array& x) {
  const array::Scope scope("normalize");
  const Array squares = array::reduce_sum(x * x, {-1}, /*keep_dims=*/true);
  return array::named(x / array::maximum(array::sqrt(squares), 1e-12), "");
}

}  // namespace pippin::nn
