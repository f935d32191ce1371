#include "pippin/nn/layers/feature_stem.h"

#include "pippin/array/ops.h"

namespace pippin::nn {

using array::Array;

int64_t FeatureStemOptions::length() const {
  int64_t length = frames;
  for (const Convolution& convolution : convolutions) {
    const int64_t last = length + 2 * convolution.padding - convolution.size;
    length = last < 0 ? 0 : last / convolution.stride + 1;
  }
  return length;
}

FeatureStem::FeatureStem(const Parameters& parameters, const FeatureStemOptions& options)
    : options_(options) {
  int64_t inputs = options.inputs;
  convolutions_.reserve(options.convolutions.size());
  for (const FeatureStemOptions::Convolution& convolution : options.convolutions) {
    const Parameters at = parameters.at(convolution.path);
    convolutions_.push_back({at.path(),
                             at.get("weight", {convolution.outputs, inputs, convolution.size}),
                             at.get("bias", {convolution.outputs})});
    inputs = convolution.outputs;
  }
}

Array FeatureStem::operator()(const Array& features) const {
  Array x = features;
  for (size_t i = 0; i < convolutions_.size(); ++i) {
    const FeatureStemOptions::Convolution& options = options_.convolutions[i];
    const array::Scope scope(convolutions_[i].path);
    x = array::record_one("conv",
                          {{"x", x},
                           {"weight", convolutions_[i].weight},
                           {"bias", convolutions_[i].bias},
                           {"strides", std::vector<int64_t>{options.stride}},
                           {"pad_type", "custom"},
                           {"pad", std::vector<int64_t>{options.padding, options.padding}}});
    x = apply(options.activation, array::named(x, ""));
  }
  return array::transpose(x, {0, 2, 1});
}

}  // namespace pippin::nn
