#include "pippin/nn/hyper_connection.h"

#include <vector>

#include "pippin/array/ops.h"
#include "pippin/base/error.h"
#include "pippin/nn/recurrent/recurrence.h"

namespace pippin::nn {

using array::Array;

namespace {

int64_t weights_of(const HyperOptions& options) {
  return (2 + options.streams) * options.streams;
}

// The factors of the three kinds of weights, one for each weight.
Array scales_of(const Parameters& parameters, const std::string& name,
                const HyperOptions& options) {
  const int64_t streams = options.streams;
  return parameters.made(name + "_scales", {weights_of(options)}, [&](const std::string& full) {
    const std::vector<double> kinds = parameters.values(name + "_scale", {3});
    std::vector<double> values;
    for (int64_t i = 0; i < weights_of(options); ++i) {
      values.push_back(kinds[i < streams ? 0U : i < 2 * streams ? 1U : 2U]);
    }
    return array::constant(parameters.type(), {weights_of(options)}, values, full);
  });
}

Array flat(const Array& streams, const HyperOptions& options) {
  return array::reshape(streams, {1, streams.dim(1), options.streams * options.features});
}

// (1, q, features): the sum of the streams by weights (1, q, streams), fp32.
Array collapsed_by(const Array& weights, const Array& streams) {
  const Array columns = array::expand_dims(array::cast(weights, streams.type()), {3});
  return array::reduce_sum(streams * columns, {2});
}

}  // namespace

HyperConnection::HyperConnection(const Parameters& parameters, const std::string& name,
                                 const HyperOptions& options)
    : path_(parameters.path() + "." + name),
      options_(options),
      norm_(parameters.at(name), options.streams * options.features, without_weight(options.norm)),
      matrix_(
          parameters.get(name + "_fn", {weights_of(options), options.streams * options.features})),
      base_(parameters.get(name + "_base", {weights_of(options)})),
      scales_(scales_of(parameters, name, options)) {
  if (parameters.style().convolutions) {
    fail(ErrorCode::Unsupported, "'{}': hyper-connections have no form for this package family",
         path_);
  }
}

HyperConnection::Weights HyperConnection::operator()(const Array& streams) const {
  const array::Scope scope(path_);
  const int64_t count = options_.streams;
  const double epsilon = options_.epsilon;
  const Array raw = array::linear(norm_(flat(streams, options_)), matrix_);
  const Array all = array::cast(raw, kDecayType) * array::cast(scales_, kDecayType) +
                    array::cast(base_, kDecayType);
  const Array first = array::sigmoid(array::slice_axis(all, 2, 0, count)) + epsilon;
  const Array placed = array::sigmoid(array::slice_axis(all, 2, count, 2 * count)) * 2.0;
  const Array square = array::reshape(array::slice_axis(all, 2, 2 * count, weights_of(options_)),
                                      {1, streams.dim(1), count, count});
  const auto divided = [&](const Array& matrix, int64_t axis) {
    return matrix / (array::reduce_sum(matrix, {axis}, /*keep_dims=*/true) + epsilon);
  };
  Array mixed = divided(array::softmax(square) + epsilon, 2);
  for (int64_t i = 1; i < options_.iterations; ++i) mixed = divided(divided(mixed, 3), 2);
  return {collapsed_by(first, streams), array::expand_dims(placed, {3}), mixed};
}

Array HyperConnection::after(const Weights& weights, const Array& streams,
                             const Array& result) const {
  const array::Scope scope(path_);
  const Array placed = array::expand_dims(result, {2}) * array::cast(weights.placed, result.type());
  // Stream j gets the sum over i of weight (i, j) times stream i.
  return placed + array::matmul(array::cast(weights.mixed, streams.type()), streams,
                                /*transpose_x=*/true);
}

HyperStreams::HyperStreams(const Parameters& root, const HyperOptions& options)
    : path_(root.at("hc_head").path()),
      options_(options),
      norm_(root.at("hc_head"), options.streams * options.features, without_weight(options.norm)),
      matrix_(root.get("hc_head_fn", {options.streams, options.streams * options.features})),
      base_(root.get("hc_head_base", {options.streams})),
      scale_(root.get("hc_head_scale", {1})) {}

Array HyperStreams::spread(const Array& x) const {
  const array::Scope scope(path_);
  return array::tile(array::expand_dims(x, {2}), {1, 1, options_.streams, 1});
}

Array HyperStreams::merge(const Array& streams) const {
  const array::Scope scope(path_);
  const Array raw = array::linear(norm_(flat(streams, options_)), matrix_);
  const Array all = array::cast(raw, kDecayType) * array::cast(scale_, kDecayType) +
                    array::cast(base_, kDecayType);
  return collapsed_by(array::sigmoid(all) + options_.epsilon, streams);
}

}  // namespace pippin::nn
