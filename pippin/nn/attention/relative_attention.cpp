#include "pippin/nn/attention/relative_attention.h"

#include <cmath>
#include <vector>

#include "pippin/array/builder.h"
#include "pippin/array/ops.h"

namespace pippin::nn {

using array::Array;

namespace {

// int32 (2 * length - 1): the distance of key and query, from first to last.
Array all_distances(const mil::Dim& begin, const mil::Dim& end) {
  array::Builder& builder = array::Builder::current();
  const Array first = builder.dim_array(begin);
  return array::range(first, builder.dim_array(end));
}

// From scores by distance, row i's columns for length - 1 down to 1 - length, to those of its keys:
// column j is that of distance i - j. With a zero before each row, the same numbers in rows of
// `length` are the wanted ones, one row later.
Array by_key(const Array& scores, const mil::Dim& length) {
  const mil::Dim &heads = scores.dim(1), &columns = scores.dim(3);
  const Array padded =
      array::record_one("pad", {{"x", scores},
                                {"pad", std::vector<int64_t>{0, 0, 0, 0, 0, 0, 1, 0}},
                                {"mode", "constant"},
                                {"constant_val", mil::Value::of_float(scores.type(), 0.0)}});
  const Array turned = array::reshape(padded, {1, heads, length * mil::Dim(2), length});
  const Array shifted = array::slice_axis(turned, 2, 1, length * mil::Dim(2));
  return array::slice_axis(array::reshape(shifted, {1, heads, length, columns}), 3, 0, length);
}

// (1, num_heads, 1, head_dim).
std::optional<Array> bias_of(const Parameters& parameters, const std::string& name,
                             const RelativeAttentionOptions& options) {
  if (name.empty()) return std::nullopt;
  const std::vector<int64_t> dims = {1, options.num_heads, 1, options.head_dim};
  return parameters.made(name, dims, [&](const std::string& full) {
    const std::vector<double> values =
        parameters.values(name, {options.num_heads, options.head_dim});
    return array::constant(parameters.type(), dims, values, full);
  });
}

}  // namespace

RelativeAttention::RelativeAttention(const Parameters& parameters,
                                     const RelativeAttentionOptions& options)
    : path_(parameters.path()),
      options_(options),
      q_(parameters.at(options.query), options.features, options.num_heads * options.head_dim,
         options.bias),
      k_(parameters.at(options.key), options.features, options.num_heads * options.head_dim,
         options.bias),
      v_(parameters.at(options.value), options.features, options.num_heads * options.head_dim,
         options.bias),
      o_(parameters.at(options.output), options.num_heads * options.head_dim, options.features,
         options.bias),
      content_bias_(bias_of(parameters, options.content_bias, options)),
      position_bias_(bias_of(parameters, options.position_bias, options)) {
  if (options.table.empty()) {
    positions_.emplace(parameters.at(options.positions), options.features,
                       options.num_heads * options.head_dim);
  } else {
    table_ = parameters.at(options.table)
                 .get("weight", {options.before + 1 + options.after, options.head_dim});
  }
}

Array RelativeAttention::heads(const Array& x) const {
  const Array split = array::reshape(x, {1, x.dim(1), options_.num_heads, options_.head_dim});
  return array::transpose(split, {0, 2, 1, 3});
}

Array RelativeAttention::distances(const mil::Dim& length, const Array* sinusoids) const {
  if (positions_) return heads((*positions_)(*sinusoids));
  const Array later = all_distances(mil::Dim(1) - length, length);  // of the key
  const auto number = [](int64_t value) { return array::constant(static_cast<int32_t>(value)); };
  const Array near =
      array::minimum(array::maximum(later, number(-options_.before)), number(options_.after));
  return array::expand_dims(array::gather(*table_, near + number(options_.before)), {0, 1});
}

Array RelativeAttention::operator()(const Array& x, const MixerInput& input) const {
  const array::Scope scope(path_);
  const mil::Dim& length = x.dim(1);
  const Array queries = heads(q_(x)), keys = heads(k_(x));
  const Array values = heads(v_(x));
  const Array for_positions = position_bias_ ? queries + *position_bias_ : queries;
  const Array rows = distances(length, input.relative);
  const Array scores = array::matmul(for_positions, rows, false, /*transpose_y=*/true);
  const Array bias =
      by_key(scores, length) * (1 / std::sqrt(static_cast<double>(options_.head_dim)));
  const Array for_content = content_bias_ ? queries + *content_bias_ : queries;
  const Array attended = array::scaled_dot_product_attention(for_content, keys, values, bias);
  return o_(array::reshape(array::transpose(attended, {0, 2, 1, 3}),
                           {1, length, options_.num_heads * options_.head_dim}));
}

std::unique_ptr<const Mixer> RelativeAttentionOptions::make(const Parameters& parameters) const {
  return std::make_unique<RelativeAttention>(parameters, *this);
}

Array sinusoids_of_distances(const mil::Dim& length, int64_t features, mil::DataType type) {
  const array::Scope scope("positions");
  const int64_t pairs = features / 2;
  std::vector<double> frequencies;
  frequencies.reserve(static_cast<size_t>(pairs));
  for (int64_t i = 0; i < pairs; ++i) {
    frequencies.push_back(
        std::pow(10000.0, -2.0 * static_cast<double>(i) / static_cast<double>(features)));
  }
  // In fp32: angles in fp16 would be off by half a radian at distance 2048.
  constexpr auto kType = mil::DataType::Float32;
  const Array later = array::cast(all_distances(mil::Dim(1) - length, length), kType);
  const Array angles = array::expand_dims(later * -1.0, {1}) *
                       array::constant(kType, {1, pairs}, frequencies, "frequencies");
  const Array sines = array::expand_dims(array::sin(angles), {2});
  const Array cosines = array::expand_dims(array::cos(angles), {2});
  const Array both = array::reshape(array::concat({sines, cosines}, 2),
                                    {1, length * mil::Dim(2) - mil::Dim(1), features});
  return array::cast(both, type);
}

}  // namespace pippin::nn
