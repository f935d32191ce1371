#include "pippin/nn/layers/feature_stem.h"

#include <algorithm>
#include <utility>

#include "pippin/array/ops.h"
#include "pippin/base/error.h"
#include "pippin/nn/weights/style.h"

namespace pippin::nn {

using array::Array;

int64_t FeatureStemOptions::length() const {
  int64_t length = sample_frames ? frames / sample_frames->samples : frames;
  for (const Convolution& convolution : convolutions) {
    const int64_t last =
        length + convolution.padding + convolution.padding_after() - convolution.size;
    length = last < 0 ? 0 : last / convolution.stride + 1;
  }
  return length;
}

int64_t FeatureStemOptions::shortest() const {
  int64_t length = 1;
  for (auto at = convolutions.rbegin(); at != convolutions.rend(); ++at) {
    length = (length - 1) * at->stride + at->size - at->padding - at->padding_after();
  }
  return sample_frames ? std::max<int64_t>(length, 1) * sample_frames->samples : length;
}

FeatureStem::FeatureStem(const Parameters& parameters, const FeatureStemOptions& options)
    : options_(options), channels_(parameters.style().channels()) {
  int64_t inputs = options.inputs;
  if (options.sample_frames) {
    if (channels_) {
      fail(ErrorCode::Unsupported, "'{}': frames of samples have no form for this package family",
           parameters.at(options.sample_frames->projection).path());
    }
    sample_frames_.emplace(parameters, *options.sample_frames);
    inputs = options.sample_frames->outputs;
  }
  layers_.reserve(options.convolutions.size());
  for (const FeatureStemOptions::Convolution& convolution : options.convolutions) {
    const Parameters at = parameters.at(convolution.path);
    const int64_t outputs = convolution.outputs;
    if (channels_ && !convolution.norm.empty()) {
      fail(ErrorCode::Unsupported,
           "'{}': features that are normalized together have no form for this package family",
           at.path());
    }
    std::vector<int64_t> strides = {convolution.stride},
                         padding = {convolution.padding, convolution.padding_after()};
    Array weight = at.get("weight", {outputs, inputs, convolution.size});
    if (channels_) {
      weight = with_dims(weight, at.path() + ".weight", {outputs, inputs, 1, convolution.size});
      strides.insert(strides.begin(), 1);
      padding.insert(padding.begin(), {0, 0});
    }
    const ConvolutionOptions made{.dims = *mil::constant_shape(weight.shape()),
                                  .bias = convolution.bias,
                                  .strides = strides,
                                  .padding = padding};
    std::optional<Array> bias;
    if (convolution.bias) bias = at.get("bias", {outputs});
    Layer& layer = layers_.emplace_back(Layer{Convolution(at.path(), made, weight, bias), {}, {}});
    if (!convolution.norm.empty()) {
      const Parameters norm = parameters.at(convolution.norm);
      layer.norm_weight = norm.get("weight", {outputs});
      layer.norm_bias = norm.get("bias", {outputs});
    }
    inputs = outputs;
  }
}

// In fp32: a sum over a whole recording leaves the range of fp16.
Array FeatureStem::normalized(const Array& x, const Layer& layer, double epsilon) {
  const array::Scope scope("norm");
  const auto mean = [](const Array& of) {
    return array::record_one(
        "reduce_mean", {{"x", of}, {"axes", std::vector<int64_t>{1, 2}}, {"keep_dims", true}});
  };
  const Array wide = array::cast(x, mil::DataType::Float32);
  const Array centered = wide - mean(wide);
  const Array scale = array::rsqrt(mean(centered * centered), epsilon);
  const Array y = array::cast(centered * scale, x.type());
  return y * array::expand_dims(*layer.norm_weight, {1}) +
         array::expand_dims(*layer.norm_bias, {1});
}

Array FeatureStem::operator()(const Array& features) const {
  Array x = sample_frames_ ? (*sample_frames_)(features) : features;
  for (size_t i = 0; i < layers_.size(); ++i) {
    const FeatureStemOptions::Convolution& options = options_.convolutions[i];
    x = layers_[i].convolution(x);
    const array::Scope scope(layers_[i].convolution.path());
    x = apply(options.activation, x);
    if (!options.norm.empty()) x = normalized(x, layers_[i], options.epsilon);
  }
  return channels_ ? x : array::transpose(x, {0, 2, 1});
}

}  // namespace pippin::nn
