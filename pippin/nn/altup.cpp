#include "pippin/nn/altup.h"

#include <algorithm>
#include <cmath>

#include "pippin/array/ops.h"
#include "pippin/base/error.h"

namespace pippin::nn {
namespace {

using array::Array;

// A small matrix (out, in) whose elements are clipped.
Array bounded(const Parameters& parameters, const std::string& name, int64_t out, int64_t in,
              std::optional<double> most) {
  const Parameters at = parameters.at(name);
  return at.made("weight", {out, in}, [&](const std::string& full) {
    std::vector<double> values = at.values("weight", {out, in});
    for (double& value : values) {
      if (most) value = std::clamp(value, -*most, *most);
    }
    return array::constant(parameters.type(), {out, in}, values, full);
  });
}

constexpr double kLeastMean = 1e-5;
constexpr double kLeastLarge = 1.0 / (1 << 14);  // an fp16 number with all its bits

// sqrt(mean(x^2)) over the features. If norms must not overflow, values are divided by the largest
// one before they are squared.
Array magnitude(const Array& x, const Style& style) {
  if (!style.doubled_norms) {
    return array::sqrt(array::reduce_mean(x * x, {-1}, /*keep_dims=*/true));
  }
  const Array largest =
      array::maximum(array::reduce_max(array::abs(x), {-1}, /*keep_dims=*/true), kLeastLarge);
  const Array part = x / largest;
  return array::sqrt(array::reduce_mean(part * part, {-1}, /*keep_dims=*/true)) * largest;
}

// `x` times `size` over its magnitude, whose mean is at least kLeastMean.
Array resized(const Array& x, const Array& size, const Style& style) {
  return x * (size / array::maximum(magnitude(x, style), std::sqrt(kLeastMean)));
}

}  // namespace

AltUp::AltUp(const Parameters& parameters, const AltUpOptions& options)
    : path_(parameters.path()),
      options_(options),
      router_norm_(parameters.at("altup.router_norm"), options.features, options.norm),
      router_(parameters.at("altup.modality_router"), options.features, options.streams),
      prediction_(bounded(parameters, "altup.prediction_coefs", options.streams * options.streams,
                          options.streams, options.coef_clip)),
      correction_(bounded(parameters, "altup.correction_coefs", options.streams, options.streams,
                          options.coef_clip)),
      left_(parameters.at("laurel.linear_left"), options.features, options.laurel_rank),
      right_(parameters.at("laurel.linear_right"), options.laurel_rank, options.features),
      laurel_norm_(parameters.at("laurel.post_laurel_norm"), options.features, options.norm),
      row_(parameters, options.rows) {
  if (options.correct_scale) {
    scale_ = parameters.at("altup").get("correct_output_scale", {options.features});
  }
}

// (1, q, streams).
Array AltUp::modalities(const Array& x) const {
  const Array normed = router_norm_(x) * (1 / static_cast<double>(options_.features));
  return array::tanh(router_(normed));
}

Array AltUp::active(const Array& predictions) const {
  return array::slice_axis(predictions, 0, options_.active, options_.active + 1);
}

Array AltUp::predict(const Array& streams) const {
  const array::Scope scope(path_ + ".altup");
  const mil::Dim& q = streams.dim(1);
  const int64_t count = options_.streams;
  const Array coefficients = array::linear(modalities(active(streams)), prediction_);
  // Stream j gets the sum over i of coefficient (j, i) times stream i.
  const Array by_token = array::reshape(coefficients, {q, count, count});
  const Array mixed = array::matmul(by_token, array::transpose(streams, {1, 0, 2}));
  return streams + array::transpose(mixed, {1, 0, 2});
}

Array AltUp::laurel(const Array& x) const {
  const array::Scope scope(path_ + ".laurel");
  return x + laurel_norm_(right_(left_(x)));
}

Array AltUp::correct(const Array& predictions, const Array& activated, const Array& row) const {
  const array::Scope scope(path_ + ".altup");
  const Array innovation = activated - active(predictions);
  const Array coefficients = array::linear(modalities(activated), correction_) + 1.0;
  const Array corrected = predictions + innovation * array::transpose(coefficients, {2, 1, 0});
  Array first = active(corrected);
  if (scale_) first = first * *scale_;
  const Array added = row_(first, row);
  const Array others = array::slice_axis(corrected, 0, 1, options_.streams);
  return array::concat({array::slice_axis(corrected, 0, 0, 1), others + added}, 0);
}

AltUpStreams::AltUpStreams(const Parameters& root, const AltUpOptions& options, int64_t layers)
    : path_(root.path()),
      style_(root.style()),
      options_(options),
      table_(root, options.rows, layers) {
  for (int64_t i = 0; i + 1 < options.streams; ++i) {
    into_.emplace_back(root.at("altup_projections").at(i), options.features, options.features);
    out_of_.emplace_back(root.at("altup_unembed_projections").at(i), options.features,
                         options.features);
  }
}

Array AltUpStreams::stream(const Array& streams, int64_t index) const {
  return array::slice_axis(streams, 0, index, index + 1);
}

Array AltUpStreams::spread(const Array& x) const {
  const array::Scope scope(path_ + ".streams");
  const Array size = magnitude(x, style_);
  std::vector<Array> streams = {x};
  for (const Linear& projection : into_) {
    streams.push_back(resized(projection(x), size, style_));
  }
  return array::concat(streams, 0);
}

Array AltUpStreams::merge(const Array& streams) const {
  const array::Scope scope(path_ + ".merged");
  Array sum = stream(streams, 0);
  const Array size = magnitude(sum, style_);
  for (size_t i = 0; i < out_of_.size(); ++i) {
    const Array other = out_of_[i](stream(streams, static_cast<int64_t>(i) + 1));
    sum = sum + resized(other, size, style_);
  }
  return sum * (1 / static_cast<double>(options_.streams));
}

}  // namespace pippin::nn
