#include "pippin/nn/attention/key_compressor.h"

#include <cmath>
#include <limits>

#include "pippin/array/builder.h"
#include "pippin/array/ops.h"

namespace pippin::nn {
namespace {

using array::Array;

constexpr double kNotSeen = -std::numeric_limits<double>::infinity();

int64_t projected(const KeyCompressorOptions& options) {
  return options.overlap ? 2 * options.size : options.size;
}

// The bias of gates, by a token's position among those of a key, (1, 1, taps, size).
Array place_bias(const Parameters& parameters, const KeyCompressorOptions& options) {
  const std::vector<int64_t> dims = {1, 1, options.taps(), options.size};
  return parameters.made("ape_by_place", dims, [&](const std::string& full) {
    const int64_t width = projected(options);
    const std::vector<double> stored = parameters.values("ape", {options.rate, width});
    std::vector<double> values;
    values.reserve(stored.size());
    for (int64_t part = 0; part < width; part += options.size) {
      for (int64_t row = 0; row < options.rate; ++row) {
        const auto begin = stored.begin() + row * width + part;
        values.insert(values.end(), begin, begin + options.size);
      }
    }
    return array::constant(parameters.type(), dims, values, full);
  });
}

Array constant_angles(const Parameters& parameters, const char* name,
                      const KeyCompressorOptions& options, bool cosine) {
  const auto dims = static_cast<int64_t>(2 * options.frequencies.size());
  return parameters.made(name, {1, 1, 1, dims}, [&](const std::string& full) {
    std::vector<double> values;
    for (int half = 0; half < 2; ++half) {
      for (const double frequency : options.frequencies) {
        const double angle = -static_cast<double>(options.rate - 1) * frequency;
        values.push_back(cosine ? std::cos(angle) : std::sin(angle));
      }
    }
    return array::constant(parameters.type(), {1, 1, 1, dims}, values, full);
  });
}

// Pairs in place of halves, in the first elements.
Array paired(const Array& x, int64_t dims) {
  const mil::Shape by_half = {x.dim(0), x.dim(1), x.dim(2), 2, dims / 2};
  return array::reshape(array::transpose(array::reshape(x, by_half), {0, 1, 2, 4, 3}),
                        {x.dim(0), x.dim(1), x.dim(2), mil::Dim(dims)});
}

}  // namespace

CarriedState KeyCompressorOptions::carried() const {
  return {state, {1, taps() - 1, 2 * projected(*this)}};
}

Array turned_last(const Array& x, const Rotation& rotation) {
  const int64_t size = x.dim(3).constant(), dims = rotation.cos.dim(3).constant();
  const Array pairs = array::reshape(array::slice_axis(x, 3, size - dims, size),
                                     {x.dim(0), x.dim(1), x.dim(2), dims / 2, 2});
  const Array halves = array::reshape(array::transpose(pairs, {0, 1, 2, 4, 3}),
                                      {x.dim(0), x.dim(1), x.dim(2), mil::Dim(dims)});
  Array turned = rotate(halves, rotation);
  if (size == dims) return turned;
  return array::concat({turned, array::slice_axis(x, 3, 0, size - dims)}, 3);
}

Array turned_back(const Array& x, const Rotation& rotation) {
  const int64_t size = x.dim(3).constant(), dims = rotation.cos.dim(3).constant();
  const Array first = size == dims ? x : array::slice_axis(x, 3, 0, dims);
  Array turned = paired(rotate(first, {rotation.cos, rotation.sin * -1.0}), dims);
  if (size == dims) return turned;
  return array::concat({array::slice_axis(x, 3, dims, size), turned}, 3);
}

Array closed_blocks(const Array& mask, const mil::Dim& end, int64_t rate) {
  const Array places = array::range(array::constant(0), array::Builder::current().dim_array(end));
  const Array left = array::mod(places, array::constant(static_cast<int32_t>(rate)));
  const Array closes = array::equal(left, array::constant(static_cast<int32_t>(rate - 1)));
  return array::select(array::expand_dims(closes, {0, 1, 2}), mask,
                       array::constant(mask.type(), kNotSeen));
}

KeyCompressor::KeyCompressor(const Parameters& parameters, const KeyCompressorOptions& options)
    : path_(parameters.path()),
      options_(options),
      keys_(parameters.at("wkv"), options.features, projected(options)),
      gates_(parameters.at("wgate"), options.features, projected(options)),
      place_bias_(place_bias(parameters, options)),
      norm_(parameters.at("norm"), options.size, options.norm),
      back_{constant_angles(parameters, "back_cos", options, true),
            constant_angles(parameters, "back_sin", options, false)} {}

// For each token, the rows that its key is computed from, (1, q, taps, 2 * projected).
Array KeyCompressor::windows(const Array& x, const MixerInput& input) const {
  const CarriedState state = options_.carried();
  const Array both = array::concat({keys_(x), gates_(x)}, 2);
  const Array rows = array::concat({input.cache.carried(input.layer, state), both}, 1);
  const mil::Dim& tokens = x.dim(1);
  input.cache.carry(input.layer, state,
                    array::slice_axis(rows, 1, tokens, tokens + mil::Dim(state.shape[1])));
  array::Builder& builder = array::Builder::current();
  const Array first =
      array::expand_dims(array::range(array::constant(0), builder.dim_array(tokens)), {1});
  const Array places = array::expand_dims(
      array::range(array::constant(0), array::constant(static_cast<int32_t>(options_.taps()))),
      {0});
  return array::gather(rows, first + places, 1);
}

// (1, q, size).
Array KeyCompressor::pooled(const Array& windows, const MixerInput& input) const {
  const int64_t size = options_.size, rate = options_.rate, taps = options_.taps();
  const auto part = [&](int64_t begin) {
    if (!options_.overlap) return array::slice_axis(windows, 3, begin, begin + size);
    const Array earlier =
        array::slice_axis(array::slice_axis(windows, 2, 0, rate), 3, begin, begin + size);
    const Array own = array::slice_axis(array::slice_axis(windows, 2, rate, taps), 3, begin + size,
                                        begin + 2 * size);
    return array::concat({earlier, own}, 2);
  };
  array::Builder& builder = array::Builder::current();
  const Array tokens =
      array::range(builder.dim_array(input.pass.past), builder.dim_array(input.pass.end));
  const Array taken = array::range(array::constant(0), array::constant(static_cast<int32_t>(taps)));
  const Array positions =
      array::expand_dims(tokens, {0, 2, 3}) + array::expand_dims(taken, {0, 1, 3});
  const Array exists =
      array::greater_equal(positions, array::constant(static_cast<int32_t>(taps - 1)));
  const Array gates = part(projected(options_)) + place_bias_;
  const Array known = array::select(exists, gates, array::constant(gates.type(), kNotSeen));
  return array::reduce_sum(part(0) * array::softmax(known, 2), {2});
}

Array KeyCompressor::operator()(const Array& x, const MixerInput& input) const {
  const array::Scope scope(path_);
  const Array keys = norm_(pooled(windows(x, input), input));
  const Array turned = turned_last(array::expand_dims(keys, {1}), *input.rotation);
  // Rotates back to the position of the block's first token.
  return rotate(turned, back_);
}

}  // namespace pippin::nn
