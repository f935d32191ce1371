// MobileNet V2 (Sandler et al. 2018): a classifier, or the pooled features.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "pippin/array/ops.h"
#include "pippin/models/vision/image_network.h"
#include "pippin/models/vision/vision_config.h"
#include "pippin/nn/layers/batch_norm.h"
#include "pippin/nn/layers/convolution.h"
#include "pippin/nn/vision/grid_rows.h"

namespace pippin::models::vision {
namespace {

using array::Array;

constexpr std::array<int64_t, 17> kChannels = {16, 24, 24, 32, 32,  32,  64,  64, 64,
                                               64, 96, 96, 96, 160, 160, 160, 320};
constexpr std::array<int64_t, 16> kStrides = {2, 1, 2, 1, 1, 2, 1, 1, 1, 1, 1, 1, 2, 1, 1, 1};
constexpr int64_t kStemChannels = 32, kLastChannels = 1280;

struct MobileNet {
  double multiplier = 1, expansion = 6, epsilon = 1e-3;
  int64_t divisor = 8, least = 8, channels = 3;
  bool fine_output = true;       // fewer channels do not narrow the last layer
  bool padding_of_input = true;  // TensorFlow's: by the input's size, more zeros at the end
  nn::Activation activation = nn::Activation::Relu;
  bool clipped = true;  // at 6

  int64_t divisible(int64_t count) const;
  int64_t scaled(int64_t count) const;
  int64_t last_channels() const;
  Array pooled(const nn::Parameters& parameters, const Array& pixels) const;

 private:
  struct Layer {
    int64_t to = 0, size = 1, stride = 1;
    bool depthwise = false, activates = true;
  };
  Array apply(const nn::Parameters& parameters, const Layer& layer, const Array& x) const;
  Array block(const nn::Parameters& parameters, int64_t to, int64_t stride, const Array& x) const;
};

// Rounded to a multiple of the divisor, at most a tenth below the number.
int64_t MobileNet::divisible(int64_t count) const {
  const int64_t rounded = std::max(least, (count + divisor / 2) / divisor * divisor);
  return 10 * rounded < 9 * count ? rounded + divisor : rounded;
}

int64_t MobileNet::scaled(int64_t count) const {
  return divisible(std::lrint(static_cast<double>(count) * multiplier));
}

int64_t MobileNet::last_channels() const {
  return fine_output && multiplier < 1 ? kLastChannels : scaled(kLastChannels);
}

// Zeros around planes: before and after each axis.
std::vector<int64_t> zeros_around(const Array& x, int64_t size, int64_t stride, bool by_input) {
  std::vector<int64_t> result;
  result.reserve(4);
  for (const int64_t axis : {2, 3}) {
    const int64_t length = x.dim(axis).constant();
    const int64_t rest = length % stride == 0 ? stride : length % stride;
    const int64_t all = by_input ? std::max<int64_t>(size - rest, 0) : (size - 1) / 2 * 2;
    result.insert(result.end(), {all / 2, all - all / 2});
  }
  return result;
}

// A convolution with the batch norm after it in its weights.
Array MobileNet::apply(const nn::Parameters& parameters, const Layer& layer, const Array& x) const {
  const array::Scope scope(parameters.path());
  const nn::Parameters at = parameters.at("convolution"), norm = parameters.at("normalization");
  const int64_t from = x.dim(1).constant();
  nn::ConvolutionOptions options{
      .dims = {layer.to, layer.depthwise ? 1 : from, layer.size, layer.size},
      .bias = false,
      .strides = {layer.stride},
      .groups = layer.depthwise ? from : 1};
  if (layer.size > 1) options.padding = zeros_around(x, layer.size, layer.stride, padding_of_input);
  Array y = nn::batch_normed(at, norm, options, epsilon)(x);
  if (!layer.activates) return y;
  return clipped ? array::clip(y, 0, 6) : nn::apply(activation, y);
}

Array MobileNet::block(const nn::Parameters& parameters, int64_t to, int64_t stride,
                       const Array& x) const {
  const int64_t from = x.dim(1).constant();
  const int64_t wide = divisible(std::lrint(static_cast<double>(from) * expansion));
  Array y = apply(parameters.at("expand_1x1"), {.to = wide}, x);
  y = apply(parameters.at("conv_3x3"), {.to = wide, .size = 3, .stride = stride, .depthwise = true},
            y);
  y = apply(parameters.at("reduce_1x1"), {.to = to, .activates = false}, y);
  return stride == 1 && from == to ? x + y : y;
}

Array MobileNet::pooled(const nn::Parameters& parameters, const Array& pixels) const {
  const nn::Parameters stem = parameters.at("conv_stem"), layers = parameters.at("layer");
  const int64_t wide = scaled(kStemChannels);
  Array x = apply(stem.at("first_conv"), {.to = wide, .size = 3, .stride = 2}, pixels);
  x = apply(stem.at("conv_3x3"), {.to = wide, .size = 3, .depthwise = true}, x);
  x = apply(stem.at("reduce_1x1"), {.to = scaled(kChannels[0]), .activates = false}, x);
  for (size_t i = 0; i < kStrides.size(); ++i) {
    x = block(layers.at(static_cast<int64_t>(i)), scaled(kChannels[i + 1]), kStrides[i], x);
  }
  x = apply(parameters.at("conv_1x1"), {.to = last_channels()}, x);
  return array::reduce_mean(nn::rows_of_planes(x), {1}, /*keep_dims=*/true);
}

MobileNet read_mobilenet(const Config& config) {
  MobileNet net;
  net.multiplier = config.number("depth_multiplier", 1.0);
  net.expansion = config.number("expand_ratio", 6.0);
  net.epsilon = config.number("layer_norm_eps", 1e-3);
  net.divisor = config.size("depth_divisible_by", 8, 1 << 10);
  net.least = config.size("min_depth", 8, 1 << 10);
  net.channels = config.size("num_channels", 3, 16);
  constexpr double kMost = 64;
  for (const auto& [key, value] :
       {std::pair("depth_multiplier", net.multiplier), std::pair("expand_ratio", net.expansion)}) {
    if (!(value > 0 && value <= kMost)) config.invalid(key, "not a number above 0, up to 64");
  }
  net.fine_output = config.flag("finegrained_output", true);
  net.padding_of_input = config.flag("tf_padding", true);
  config.require_flag("first_layer_is_expansion", true, true);
  if (config.size("output_stride", 32) != 32) {
    config.unsupported("output_stride", "only 32 is supported");
  }
  net.clipped = config.text("hidden_act", "relu6") == "relu6";
  if (!net.clipped) net.activation = config.activation("hidden_act", "relu");
  return net;
}

}  // namespace

VisionDescription mobilenet_v2(const Config& config) {
  MobileNet net = read_mobilenet(config);
  ImageNetwork network;
  network.base = "mobilenet_v2";
  network.tensor = "conv_stem.first_conv.convolution.weight";
  network.channels = net.channels;
  network.features = net.last_channels();
  network.labels = read_labels(config, "MobileNetV2Model", "MobileNetV2ForImageClassification");
  network.pooled = [net](const nn::Parameters& parameters, const Array& pixels) {
    return net.pooled(parameters, pixels);
  };
  return description_of(std::move(network));
}

}  // namespace pippin::models::vision
