#include <optional>
#include <utility>

#include "pippin/array/ops.h"
#include "pippin/nn/layers/convolution.h"
#include "pippin/nn/layers/linear.h"
#include "pippin/nn/speech/speech_front.h"

namespace pippin::nn {
namespace {

using array::Array;
using ConvolutionNorm = WaveformFrontOptions::ConvolutionNorm;

constexpr double kConvolutionEpsilon = 1e-5;

// The numbers of a norm that an operation takes as constants.
Array norm_constant(const Parameters& parameters, const char* name, int64_t channels) {
  return parameters.made(name, {channels}, [&](const std::string& full) {
    return array::constant(parameters.type(), {channels}, parameters.values(name, {channels}),
                           full);
  });
}

class WaveformFront final : public SpeechFront {
 public:
  WaveformFront(const Parameters& parameters, const WaveformFrontOptions& options, int64_t features)
      : options_(options),
        projection_(parameters.at("feature_projection.projection"), options.channels.back(),
                    features, /*bias=*/true) {
    const Parameters convolutions = parameters.at("feature_extractor.conv_layers");
    int64_t inputs = 1;
    layers_.reserve(options.channels.size());
    for (size_t i = 0; i < options.channels.size(); ++i) {
      const Parameters at = convolutions.at(static_cast<int64_t>(i));
      const int64_t outputs = options.channels[i];
      layers_.push_back({Convolution(at.at("conv"), {.dims = {outputs, inputs, options.sizes[i]},
                                                     .bias = options.bias,
                                                     .strides = {options.strides[i]}}),
                         {},
                         {},
                         {},
                         at.at("layer_norm").path()});
      add_norm(layers_.back(), at.at("layer_norm"), outputs, i);
      inputs = outputs;
    }
    if (options.has_norm) {
      norm_.emplace(parameters.at("feature_projection.layer_norm"), inputs, options.norm);
    }
  }

  Array operator()(const Array& input) const override {
    Array x = array::expand_dims(input, {1});
    for (const Layer& layer : layers_) {
      x = apply(options_.activation, normed(layer, layer.convolution(x)));
    }
    x = array::transpose(x, {0, 2, 1});
    return projection_(norm_ ? (*norm_)(x) : x);
  }

 private:
  struct Layer {
    Convolution convolution;
    std::optional<Norm> norm;           // over the channels
    std::optional<Array> weight, bias;  // of the norm over the time
    std::string norm_path;
  };

  void add_norm(Layer& layer, const Parameters& at, int64_t channels, size_t index) const {
    if (options_.convolution_norm == ConvolutionNorm::Layer) {
      const NormOptions norm{
          .kind = NormOptions::Kind::Layer, .epsilon = kConvolutionEpsilon, .bias = true};
      layer.norm.emplace(at, channels, norm);
    } else if (index == 0) {
      layer.weight = norm_constant(at, "weight", channels);
      layer.bias = norm_constant(at, "bias", channels);
    }
  }

  static Array normed(const Layer& layer, const Array& x) {
    if (layer.norm) {
      return array::transpose((*layer.norm)(array::transpose(x, {0, 2, 1})), {0, 2, 1});
    }
    if (!layer.weight) return x;
    const array::Scope scope(layer.norm_path);
    // Each group is one channel.
    return array::named(
        array::record_one("instance_norm",
                          {{"x", x},
                           {"gamma", *layer.weight},
                           {"beta", *layer.bias},
                           {"epsilon", mil::Value::of_float(x.type(), kConvolutionEpsilon)}}),
        "");
  }

  WaveformFrontOptions options_;
  std::vector<Layer> layers_;
  std::optional<Norm> norm_;
  Linear projection_;
};

}  // namespace

int64_t WaveformFrontOptions::stride() const {
  int64_t result = 1;
  for (const int64_t step : strides) result *= step;
  return result;
}

int64_t WaveformFrontOptions::shortest() const {
  int64_t result = 1;
  for (size_t i = sizes.size(); i-- > 0;) result = (result - 1) * strides[i] + sizes[i];
  return result;
}

std::unique_ptr<const SpeechFront> WaveformFrontOptions::make(const Parameters& parameters,
                                                              int64_t features) const {
  return std::make_unique<WaveformFront>(parameters, *this, features);
}

}  // namespace pippin::nn
