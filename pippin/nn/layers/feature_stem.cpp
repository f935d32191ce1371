#include "pippin/nn/layers/feature_stem.h"

#include <utility>

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

int64_t FeatureStemOptions::shortest() const {
  int64_t length = 1;
  for (auto at = convolutions.rbegin(); at != convolutions.rend(); ++at) {
    length = (length - 1) * at->stride + at->size - 2 * at->padding;
  }
  return length;
}

FeatureStem::FeatureStem(const Parameters& parameters, const FeatureStemOptions& options)
    : options_(options) {
  int64_t inputs = options.inputs;
  convolutions_.reserve(options.convolutions.size());
  for (const FeatureStemOptions::Convolution& convolution : options.convolutions) {
    const Parameters at = parameters.at(convolution.path);
    const int64_t outputs = convolution.outputs;
    Convolution& made = convolutions_.emplace_back(
        Convolution{at.path(), at.get("weight", {outputs, inputs, convolution.size}), {}, {}, {}});
    if (convolution.bias) made.bias = at.get("bias", {outputs});
    if (!convolution.norm.empty()) {
      const Parameters norm = parameters.at(convolution.norm);
      made.norm_weight = norm.get("weight", {outputs});
      made.norm_bias = norm.get("bias", {outputs});
    }
    inputs = outputs;
  }
}

// In fp32: a sum over a whole recording leaves the range of fp16.
Array FeatureStem::normalized(const Array& x, const Convolution& convolution, double epsilon) {
  const array::Scope scope("norm");
  const auto mean = [](const Array& of) {
    return array::record_one(
        "reduce_mean", {{"x", of}, {"axes", std::vector<int64_t>{1, 2}}, {"keep_dims", true}});
  };
  const Array wide = array::cast(x, mil::DataType::Float32);
  const Array centered = wide - mean(wide);
  const Array scale = array::rsqrt(mean(centered * centered), epsilon);
  const Array y = array::cast(centered * scale, x.type());
  return y * array::expand_dims(*convolution.norm_weight, {1}) +
         array::expand_dims(*convolution.norm_bias, {1});
}

Array FeatureStem::operator()(const Array& features) const {
  Array x = features;
  for (size_t i = 0; i < convolutions_.size(); ++i) {
    const FeatureStemOptions::Convolution& options = options_.convolutions[i];
    const array::Scope scope(convolutions_[i].path);
    std::vector<array::Param> params = {
        {"x", x},
        {"weight", convolutions_[i].weight},
        {"strides", std::vector<int64_t>{options.stride}},
        {"pad_type", "custom"},
        {"pad", std::vector<int64_t>{options.padding, options.padding}}};
    if (convolutions_[i].bias) params.emplace_back("bias", *convolutions_[i].bias);
    x = array::named(array::record_one("conv", std::move(params)), "");
    x = apply(options.activation, x);
    if (!options.norm.empty()) x = normalized(x, convolutions_[i], options.epsilon);
  }
  return array::transpose(x, {0, 2, 1});
}

}  // namespace pippin::nn
