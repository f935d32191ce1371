#include "pippin/nn/recurrent/recurrence.h"

#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "pippin/array/builder.h"
#include "pippin/array/ops.h"
#include "pippin/base/error.h"

namespace pippin::nn {

using array::Array;
using mil::Dim;

Array decay_rates(const Parameters& parameters, std::string_view tensor,
                  const std::vector<int64_t>& dims, double (*rate)(double)) {
  const std::string name = parameters.at("A").path();
  int64_t count = 1;
  for (const int64_t size : dims) count *= size;
  if (const auto ready = parameters.stored("A", count, kDecayType))
    return with_dims(*ready, name, dims);
  std::vector<double> values = parameters.values(tensor, dims);
  for (size_t i = 0; i < values.size(); ++i) {
    const double found = values[i];
    values[i] = rate(found);
    // Times a step of 0 it would be NaN, which a state keeps forever.
    if (!std::isfinite(static_cast<float>(values[i]))) {
      fail(ErrorCode::InvalidFile,
           "tensor '{}' has {} as element {} of {}: what decays with it needs a finite number",
           parameters.at(tensor).path(), found, i, values.size());
    }
  }
  return array::constant(kDecayType, dims, values, name);
}

Array decay_rates(const Parameters& parameters, const std::vector<int64_t>& dims) {
  return decay_rates(parameters, "A_log", dims, [](double x) { return -std::exp(x); });
}

namespace {

Array places_of(const Dim& query) {
  const Array count = array::Builder::current().dim_array(query);
  return array::range(array::constant(0), count);
}

Array no_later_of(const Dim& query) {
  const Array places = places_of(query);
  const Array rows = array::expand_dims(places, {1});
  return array::named(array::less_equal(array::expand_dims(places, {0}), rows), "no_later");
}

}  // namespace

TokenOrder::TokenOrder(const Dim& query) : no_later(no_later_of(query)) {
  const Array places = places_of(query);
  for (int64_t half = 1; half < query.upper(); half *= 2) {
    // Indices of halves: the column's is even, the row's the next.
    const Array numbers = array::floor_divide(places, array::constant(static_cast<int32_t>(half)));
    const Array rows = array::expand_dims(numbers, {1});
    const Array columns = array::expand_dims(numbers, {0});
    const Array even = array::equal(array::mod(columns, array::constant(2)), array::constant(0));
    const Array next = array::equal(rows, columns + array::constant(1));
    halves.push_back(array::logical_and(next, even));
  }
}

Recurred decayed_products(const DecayedProducts& tokens, const Array& state,
                          const Array& no_later) {
  const mil::DataType type = tokens.inputs.type();
  const Dim& query = tokens.log_decay.dim(2);
  const Array total = array::record_one("cumsum", {{"x", tokens.log_decay}, {"axis", 2}});
  const Array column = array::expand_dims(total, {3});
  const Array difference = column - array::expand_dims(total, {2});  // (groups, heads, q, q)
  const Array never = array::constant(kDecayType, -std::numeric_limits<double>::infinity());
  const Array left = array::cast(array::exp(array::select(no_later, difference, never)), type);
  const Array queries = array::expand_dims(tokens.queries, {1});
  const Array keys = array::expand_dims(tokens.keys, {1});
  const Array scores = array::matmul(queries, keys, false, /*transpose_y=*/true);
  const Array own = array::matmul(left * scores, tokens.inputs);
  const Array since = array::cast(array::exp(column), type);
  const Array before = array::matmul(queries, state, false, /*transpose_y=*/true) * since;
  const Array results = own + before;
  const Array end = array::slice_axis(column, 2, query - 1, query);
  const Array until = array::cast(array::exp(end - column), type);
  const Array added = array::matmul(tokens.inputs * until, keys, /*transpose_x=*/true);
  const Array kept = state * array::cast(array::exp(end), type);
  return {results, kept + added};
}

Recurred delta_products(const DecayedProducts& tokens, const Array& rate, const Array& state,
                        const TokenOrder& order) {
  const mil::DataType type = tokens.inputs.type();
  const Array total = array::record_one("cumsum", {{"x", tokens.log_decay}, {"axis", 2}});
  const Array column = array::expand_dims(total, {3});
  const Array difference = column - array::expand_dims(total, {2});
  const Array never = array::constant(kDecayType, -std::numeric_limits<double>::infinity());
  const Array left = array::exp(array::select(order.no_later, difference, never));
  const Array keys = array::expand_dims(tokens.keys, {1});
  const Array rates = array::cast(array::expand_dims(rate, {3}), kDecayType);
  // In fp32, because they are differences of similar values.
  const Array wide_keys = array::cast(keys, kDecayType);
  const Array alike = array::matmul(wide_keys, wide_keys, false, /*transpose_y=*/true);
  const Array taken = left * alike * rates;
  const Array known = array::matmul(keys, state, false, /*transpose_y=*/true);
  const Array since = array::exp(column);
  Array inputs =
      (array::cast(tokens.inputs, kDecayType) - array::cast(known, kDecayType) * since) * rates;
  // (1 + taken)^-1 from the inverses of its blocks: for two blocks and the part below them it is x
  // - x · below · x.
  std::optional<Array> inverse;
  for (const Array& halves : order.halves) {
    const Array below = array::select(halves, taken, array::constant(kDecayType, 0.0));
    if (!inverse) {
      const Array same =
          array::logical_and(order.no_later, array::transpose(order.no_later, {1, 0}));
      inverse = array::cast(same, kDecayType) - below;
    } else {
      inverse = *inverse - array::matmul(array::matmul(*inverse, below), *inverse);
    }
  }
  if (inverse) inputs = array::matmul(*inverse, inputs);
  DecayedProducts own = tokens;
  own.inputs = array::cast(inputs, type);
  return decayed_products(own, state, order.no_later);
}

Recurred linear_recurrence(const Array& decay, const Array& inputs, const Array& state) {
  const Dim& query = inputs.dim(1);
  const auto rank = static_cast<size_t>(inputs.rank());
  // The values `distance` tokens earlier, `first` before the pass.
  const auto earlier = [&](const Array& x, int64_t distance, double first) {
    std::vector<int64_t> pad(2 * rank, 0);
    pad[2] = distance;
    const Array longer = array::record_one(
        "pad", {{"x", x}, {"pad", pad}, {"constant_val", mil::Value::of_float(x.type(), first)}});
    return array::slice_axis(longer, 1, 0, query);
  };
  Array factor = decay, sum = inputs;
  for (int64_t distance = 1; distance < query.upper(); distance *= 2) {
    const Array carried = factor * earlier(sum, distance, 0);
    factor = factor * earlier(factor, distance, 1);
    sum = carried + sum;
  }
  const Array kept = factor * state;
  const Array results = kept + sum;
  return {results, array::slice_axis(results, 1, query - 1, query)};
}

}  // namespace pippin::nn
