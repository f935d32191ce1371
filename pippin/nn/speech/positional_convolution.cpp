#include "pippin/nn/speech/positional_convolution.h"

#include <cmath>
#include <utility>
#include <vector>

#include "pippin/array/ops.h"
#include "pippin/nn/layers/batch_norm.h"

namespace pippin::nn {

using array::Array;

namespace {

// The names of lengths and directions, as PyTorch has called them.
constexpr std::pair<const char*, const char*> kNames[] = {
    {"parametrizations.weight.original0", "parametrizations.weight.original1"},
    {"weight_g", "weight_v"}};

// (outputs, inputs / groups, size): a tap's directions, over all outputs and inputs, have the
// length that `lengths` has for it.
std::vector<double> normalized(const std::vector<double>& lengths, std::vector<double> directions) {
  const size_t taps = lengths.size();
  std::vector<double> squares(taps);
  for (size_t i = 0; i < directions.size(); ++i) squares[i % taps] += directions[i] * directions[i];
  for (size_t i = 0; i < directions.size(); ++i) {
    directions[i] *= lengths[i % taps] / std::sqrt(squares[i % taps]);
  }
  return directions;
}

Array weight_of(const Parameters& at, const std::vector<int64_t>& dims) {
  if (at.holds("weight")) return at.get("weight", dims);
  return at.made("weight", dims, [&](const std::string& full) {
    const auto& [lengths, directions] = at.holds(kNames[1].first) ? kNames[1] : kNames[0];
    std::vector<double> values =
        normalized(at.values(lengths, {1, 1, dims[2]}), at.values(directions, dims));
    return array::constant(at.type(), dims, values, full);
  });
}

Convolution convolution_of(const Parameters& at, const PositionalConvolutionOptions& options) {
  const int64_t before = options.size / 2;
  const ConvolutionOptions convolution{
      .dims = {options.features, options.features / options.groups, options.size},
      .groups = options.groups,
      // As many frames as before, also for an even number of taps.
      .padding = {before, options.size - 1 - before}};
  return Convolution(at.path(), convolution, weight_of(at, convolution.dims),
                     at.get("bias", {options.features}));
}

}  // namespace

PositionalConvolution::PositionalConvolution(const Parameters& parameters,
                                             const PositionalConvolutionOptions& options)
    : path_(parameters.path()),
      activation_(options.activation),
      convolution_(convolution_of(parameters.at("conv"), options)) {
  if (!options.batch_norm) return;
  const Parameters at = parameters.at("batch_norm");
  const std::vector<int64_t> dims = {1, options.features, 1};
  const auto make = [&](const char* name, std::vector<double> ChannelScale::*part) {
    return at.made(name, dims, [&](const std::string& full) {
      const ChannelScale scale = batch_norm(at, options.features);
      return array::constant(at.type(), dims, scale.*part, full);
    });
  };
  factors_ = make("factors", &ChannelScale::factors);
  addends_ = make("addends", &ChannelScale::addends);
}

Array PositionalConvolution::operator()(const Array& x) const {
  const array::Scope scope(path_);
  Array columns = array::transpose(x, {0, 2, 1});
  if (factors_) columns = columns * *factors_ + *addends_;
  return array::transpose(apply(activation_, convolution_(columns)), {0, 2, 1});
}

}  // namespace pippin::nn
