#include "pippin/nn/attention/differential.h"

#include <cmath>
#include <string_view>
#include <vector>

#include "pippin/array/ops.h"

namespace pippin::nn {

using array::Array;

namespace {

Array factor_of(const Parameters& parameters, const DifferentialOptions& options) {
  return parameters.made("lambda", {1}, [&](const std::string& full) {
    const auto part = [&](std::string_view query, std::string_view key) {
      const std::vector<double> q = parameters.values(query, {options.head_dim});
      const std::vector<double> k = parameters.values(key, {options.head_dim});
      double sum = 0;
      for (size_t i = 0; i < q.size(); ++i) sum += q[i] * k[i];
      return std::exp(sum);
    };
    const double factor =
        part("lambda_q1", "lambda_k1") - part("lambda_q2", "lambda_k2") + options.first;
    const std::vector<double> values = {factor};
    return array::constant(parameters.type(), {1}, values, full);
  });
}

}  // namespace

Differential::Differential(const Parameters& parameters, const DifferentialOptions& options)
    : path_(parameters.path()),
      options_(options),
      factor_(factor_of(parameters, options)),
      norm_(parameters.at("groupnorm"), 2 * options.head_dim, without_weight(options.norm),
            Norm::Of::Heads) {}

// Repeats each head for the query heads that share it.
Array Differential::spread(const Array& x) const {
  const int64_t group = options_.num_heads / options_.num_kv_heads;
  if (group == 1) return x;
  const Array tiled = array::tile(array::expand_dims(x, {2}), {1, 1, group, 1, 1});
  return array::reshape(tiled, {x.dim(0), options_.num_heads, x.dim(2), x.dim(3)});
}

Array Differential::operator()(const Array& queries, const Array& keys, const Array& values,
                               const Array& mask) const {
  const int64_t heads = options_.num_heads, half = heads / 2;
  const double scale = 1 / std::sqrt(static_cast<double>(options_.head_dim));
  const Array products = array::matmul(queries * scale, spread(keys), false, /*transpose_y=*/true);
  const Array weights = array::softmax(products + mask);
  const Array second = array::slice_axis(weights, 1, half, heads);
  const Array left = array::slice_axis(weights, 1, 0, half) - second * factor_;
  const Array all = spread(values);
  const Array both = array::concat(
      {array::slice_axis(all, 1, 0, half), array::slice_axis(all, 1, half, heads)}, 3);
  return norm_(array::matmul(left, both)) * (1 - options_.first);
}

}  // namespace pippin::nn
