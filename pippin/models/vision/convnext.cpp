// ConvNeXt (Liu et al. 2022), which classifies or gives the pooled features, and DINOv3's network
// of that form, which gives the pooled features.
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "pippin/array/ops.h"
#include "pippin/models/vision/image_network.h"
#include "pippin/models/vision/vision_config.h"
#include "pippin/nn/layers/convolution.h"
#include "pippin/nn/layers/linear.h"
#include "pippin/nn/layers/mlp.h"
#include "pippin/nn/layers/norm.h"
#include "pippin/nn/vision/grid_rows.h"

namespace pippin::models::vision {
namespace {

using array::Array;

constexpr int64_t kHalving = 2;  // of a stage, after the first one

struct ConvNextNames {
  std::string stages, layers = "layers", depthwise, norm, up, down, scale;
  std::string final_norm;
};

struct ConvNext {
  ConvNextNames names;
  bool own_stem = true;  // of other names than later stages' first layers
  int64_t channels = 3, patch = 4;
  std::vector<int64_t> depths, widths;
  nn::Activation activation = nn::Activation::Gelu;
  nn::NormOptions norm, final_norm;

  Array pooled(const nn::Parameters& parameters, const Array& pixels) const;

 private:
  Array stage_start(const nn::Parameters& parameters, size_t stage, const Array& planes) const;
  Array layer(const nn::Parameters& parameters, int64_t width, const Array& planes) const;
  Array normed(const nn::Parameters& parameters, int64_t width, const Array& planes) const;
};

nn::Grid plane_grid(const Array& planes) {
  return {planes.dim(2).constant(), planes.dim(3).constant()};
}

Array cut_planes(const nn::Parameters& parameters, int64_t from, int64_t to, int64_t size,
                 const Array& planes) {
  return nn::Convolution(parameters, {.dims = {to, from, size, size}, .strides = {size}})(planes);
}

Array ConvNext::normed(const nn::Parameters& parameters, int64_t width, const Array& planes) const {
  return nn::planes_of_rows(nn::Norm(parameters, width, norm)(nn::rows_of_planes(planes)),
                            plane_grid(planes));
}

// The stem, or a norm and half as many pixels of each axis.
Array ConvNext::stage_start(const nn::Parameters& parameters, size_t stage,
                            const Array& planes) const {
  const int64_t width = widths[stage];
  if (stage == 0 && own_stem) {
    const nn::Parameters stem = parameters.at("embeddings");
    return normed(stem.at("layernorm"), width,
                  cut_planes(stem.at("patch_embeddings"), channels, width, patch, planes));
  }
  const nn::Parameters start = parameters.at(names.stages)
                                   .at(static_cast<int64_t>(stage))
                                   .at(own_stem ? "downsampling_layer" : "downsample_layers");
  if (stage == 0) {
    return normed(start.at(1), width, cut_planes(start.at(0), channels, width, patch, planes));
  }
  const int64_t before = widths[stage - 1];
  return cut_planes(start.at(1), before, width, kHalving, normed(start.at(0), before, planes));
}

Array ConvNext::layer(const nn::Parameters& parameters, int64_t width, const Array& planes) const {
  constexpr int64_t kSize = 7, kWider = 4;
  const array::Scope scope(parameters.path());
  const nn::Convolution depthwise(
      parameters.at(names.depthwise),
      {.dims = {width, 1, kSize, kSize}, .groups = width, .padding = {3, 3, 3, 3}});
  const nn::Norm first(parameters.at(names.norm), width, norm);
  const nn::Linear up(parameters.at(names.up), width, kWider * width, /*bias=*/true);
  const nn::Linear down(parameters.at(names.down), kWider * width, width, /*bias=*/true);
  Array x = first(nn::rows_of_planes(depthwise(planes)));
  x = down(nn::apply(activation, up(x)));
  if (parameters.contains(names.scale)) x = x * parameters.get(names.scale, {width});
  return planes + nn::planes_of_rows(x, plane_grid(planes));
}

Array ConvNext::pooled(const nn::Parameters& parameters, const Array& pixels) const {
  Array x = pixels;
  for (size_t stage = 0; stage < widths.size(); ++stage) {
    x = stage_start(parameters, stage, x);
    const nn::Parameters own =
        parameters.at(names.stages).at(static_cast<int64_t>(stage)).at(names.layers);
    for (int64_t i = 0; i < depths[stage]; ++i) x = layer(own.at(i), widths[stage], x);
  }
  const Array mean = array::reduce_mean(nn::rows_of_planes(x), {1}, /*keep_dims=*/true);
  return nn::Norm(parameters.at(names.final_norm), widths.back(), final_norm)(mean);
}

// `epsilon`: of the norms but the last; nothing: the configuration's.
ConvNext read_convnext(const Config& config, ConvNextNames names, double default_epsilon) {
  constexpr int64_t kMostDepth = 1 << 10, kMostWidth = 1 << 16;
  ConvNext net;
  net.names = std::move(names);
  net.channels = config.size("num_channels", 3, 16);
  net.depths = size_list(config, "depths", {3, 3, 9, 3}, kMostDepth);
  net.widths = size_list(config, "hidden_sizes", {96, 192, 384, 768}, kMostWidth);
  if (net.depths.size() != net.widths.size() || net.widths.empty()) {
    config.invalid("depths", fmt::format("{} stages, hidden_sizes has {}", net.depths.size(),
                                         net.widths.size()));
  }
  net.activation = config.activation("hidden_act", "gelu");
  net.final_norm = {.kind = nn::NormOptions::Kind::Layer,
                    .epsilon = config.number("layer_norm_eps", default_epsilon),
                    .bias = true};
  net.norm = net.final_norm;
  return net;
}

VisionDescription described_convnext(ConvNext net, ImageNetwork network) {
  network.channels = net.channels;
  network.features = net.widths.back();
  network.least_pixels = net.patch << (net.widths.size() - 1);
  network.pooled = [net = std::move(net)](const nn::Parameters& parameters, const Array& pixels) {
    return net.pooled(parameters, pixels);
  };
  return description_of(std::move(network));
}

}  // namespace

VisionDescription convnext(const Config& config) {
  ConvNext net = read_convnext(config,
                               {.stages = "encoder.stages",
                                .depthwise = "dwconv",
                                .norm = "layernorm",
                                .up = "pwconv1",
                                .down = "pwconv2",
                                .scale = "layer_scale_parameter",
                                .final_norm = "layernorm"},
                               1e-12);
  net.norm.epsilon = 1e-6;  // of the class, whatever layer_norm_eps says
  net.patch = config.size("patch_size", 4, kMostPixels);
  ImageNetwork network;
  network.base = "convnext";
  network.tensor = "embeddings.patch_embeddings.weight";
  network.labels = read_labels(config, "ConvNextModel", "ConvNextForImageClassification");
  return described_convnext(std::move(net), std::move(network));
}

VisionDescription dinov3_convnext(const Config& config) {
  ConvNext net = read_convnext(config,
                               {.stages = "stages",
                                .depthwise = "depthwise_conv",
                                .norm = "layer_norm",
                                .up = "pointwise_conv1",
                                .down = "pointwise_conv2",
                                .scale = "gamma",
                                .final_norm = "layer_norm"},
                               1e-6);
  net.own_stem = false;
  ImageNetwork network;
  network.tensor = "stages.0.downsample_layers.0.weight";
  return described_convnext(std::move(net), std::move(network));
}

}  // namespace pippin::models::vision
