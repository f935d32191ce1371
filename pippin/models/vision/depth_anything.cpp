// Depth Anything (Yang et al. 2024): states of several layers of DINOv2, put on grids of different
// sizes and fused from the smallest to the largest one, and convolutions that give the depth of
// each pixel.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "pippin/array/ops.h"
#include "pippin/models/config/common.h"
#include "pippin/models/vision/image_network.h"
#include "pippin/models/vision/vision_config.h"
#include "pippin/nn/layers/convolution.h"
#include "pippin/nn/vision/grid_rows.h"
#include "pippin/nn/vision/plane_resize.h"

namespace pippin::models::vision {
namespace {

using array::Array;

struct DepthAnything {
  Tower tower;
  bool normed = true;           // the states, by the tower's last norm
  std::vector<int64_t> layers;  // after which states are taken, counted from 1
  std::vector<int64_t> widths;  // of the planes made of them
  std::vector<double> factors;  // of their sides
  int64_t fused = 64, hidden = 32;
  size_t taken = 0;  // of the fused planes
  bool metric = false;
  double scale = 1;  // of depths

  nn::Grid patches(nn::Grid pixels) const {
    return {pixels.height / tower.net.patches.height, pixels.width / tower.net.patches.width};
  }
  Array planes(const nn::Parameters& parameters, const Array& pixels) const;

 private:
  std::vector<Array> states(const nn::Parameters& backbone, const Array& pixels) const;
  Array reassembled(const nn::Parameters& layer, size_t index, const Array& planes) const;
  Array residual(const nn::Parameters& layer, const Array& planes) const;
  Array convolved(const nn::Parameters& at, int64_t from, int64_t to, const Array& planes,
                  bool bias = true) const;
};

nn::Grid sides_of(const Array& planes) {
  return {planes.dim(2).constant(), planes.dim(3).constant()};
}

Array DepthAnything::convolved(const nn::Parameters& at, int64_t from, int64_t to,
                               const Array& planes, bool bias) const {
  return nn::Convolution(at,
                         {.dims = {to, from, 3, 3}, .bias = bias, .padding = {1, 1, 1, 1}})(planes);
}

std::vector<Array> DepthAnything::states(const nn::Parameters& backbone,
                                         const Array& pixels) const {
  const nn::Grid grid = patches(sides_of(pixels));
  const int64_t classes = tower.net.num_classes(), features = tower.net.features();
  std::vector<std::optional<Array>> found(layers.size());
  const nn::VisionTransformer net(backbone, tower.net);
  net(pixels, [&](size_t layer, const Array& states) {
    for (size_t i = 0; i < layers.size(); ++i) {
      if (layers[i] != static_cast<int64_t>(layer) + 1) continue;
      Array x = array::slice_axis(states, 1, classes, states.dim(1));
      if (normed) x = nn::Norm(backbone.at("layernorm"), features, tower.net.norm)(x);
      found[i] = nn::planes_of_rows(x, grid);
    }
  });
  std::vector<Array> result;
  result.reserve(found.size());
  for (auto& one : found) result.push_back(std::move(one).value());
  return result;
}

// A transposed convolution whose windows do not overlap is one of single places, whose channels are
// spread.
Array spread(const nn::Parameters& at, int64_t width, int64_t factor, const Array& planes) {
  const std::vector<int64_t> stored = {width, width, factor, factor};
  const int64_t outputs = width * factor * factor;
  const std::vector<int64_t> dims = {outputs, width, 1, 1};
  const Array weight = at.made("weight", dims, [&](const std::string& full) {
    const std::vector<double> values = at.values("weight", stored);
    std::vector<double> turned;
    turned.reserve(values.size());
    for (int64_t output = 0; output < outputs; ++output) {
      for (int64_t input = 0; input < width; ++input) {
        turned.push_back(values[static_cast<size_t>(input * outputs + output)]);
      }
    }
    return array::constant(at.type(), dims, turned, full);
  });
  const Array bias = at.made("bias", {outputs}, [&](const std::string& full) {
    std::vector<double> values;
    values.reserve(static_cast<size_t>(outputs));
    for (const double value : at.values("bias", {width})) {
      values.insert(values.end(), static_cast<size_t>(factor * factor), value);
    }
    return array::constant(at.type(), {outputs}, values, full);
  });
  return nn::spread_channels(nn::Convolution(at.path(), {.dims = dims}, weight, bias)(planes),
                             factor);
}

Array DepthAnything::reassembled(const nn::Parameters& layer, size_t index,
                                 const Array& planes) const {
  const int64_t width = widths[index];
  const double factor = factors[index];
  Array projected = nn::Convolution(layer.at("projection"),
                                    {.dims = {width, tower.net.features(), 1, 1}})(planes);
  const nn::Parameters resize = layer.at("resize");
  if (factor == 1) return projected;
  if (factor > 1) return spread(resize, width, std::llround(factor), projected);
  return nn::Convolution(resize, {.dims = {width, width, 3, 3},
                                  .strides = {std::llround(1 / factor)},
                                  .padding = {1, 1, 1, 1}})(projected);
}

Array DepthAnything::residual(const nn::Parameters& layer, const Array& planes) const {
  const Array first = convolved(layer.at("convolution1"), fused, fused, array::relu(planes));
  return planes + convolved(layer.at("convolution2"), fused, fused, array::relu(first));
}

Array DepthAnything::planes(const nn::Parameters& parameters, const Array& pixels) const {
  const nn::Parameters neck = parameters.at("neck"), head = parameters.at("head");
  std::vector<Array> parts = states(parameters.at("backbone"), pixels);
  for (size_t i = 0; i < parts.size(); ++i) {
    const auto index = static_cast<int64_t>(i);
    parts[i] = convolved(neck.at("convs").at(index), widths[i], fused,
                         reassembled(neck.at("reassemble_stage.layers").at(index), i, parts[i]),
                         /*bias=*/false);
  }
  std::reverse(parts.begin(), parts.end());
  Array x = parts.front();
  for (size_t i = 0; i <= taken; ++i) {
    const nn::Parameters layer = neck.at("fusion_stage.layers").at(static_cast<int64_t>(i));
    if (i > 0) {
      const Array own = nn::resize_planes(parts[i], sides_of(x), /*align_corners=*/false);
      x = x + residual(layer.at("residual_layer1"), own);
    }
    x = residual(layer.at("residual_layer2"), x);
    const nn::Grid own = sides_of(x);
    x = nn::resize_planes(
        x, i + 1 < parts.size() ? sides_of(parts[i + 1]) : nn::Grid{2 * own.height, 2 * own.width},
        /*align_corners=*/true);
    x = nn::Convolution(layer.at("projection"), {.dims = {fused, fused, 1, 1}})(x);
  }
  const nn::Grid grid = patches(sides_of(pixels));
  x = convolved(head.at("conv1"), fused, fused / 2, x);
  x = nn::resize_planes(
      x, {grid.height * tower.net.patches.height, grid.width * tower.net.patches.width},
      /*align_corners=*/true);
  x = array::relu(convolved(head.at("conv2"), fused / 2, hidden, x));
  x = nn::Convolution(head.at("conv3"), {.dims = {1, hidden, 1, 1}})(x);
  x = metric ? array::sigmoid(x) : array::relu(x);
  return scale == 1 ? x : x * scale;
}

// out_features, or out_indices: layers by name, or counted with the embeddings as 0.
std::vector<int64_t> read_out_layers(const Config& backbone, int64_t count) {
  std::vector<int64_t> layers = {count};
  const auto indices = backbone.find("out_indices");
  if (indices) layers = indices->as_ints();
  if (const auto names = backbone.find("out_features")) {
    layers.clear();
    for (const Json& name : names->elements()) {
      const std::string text(name.as_string());
      int64_t layer = -1;
      for (int64_t i = 1; i <= count; ++i) {
        if (text == fmt::format("stage{}", i)) layer = i;
      }
      if (layer < 0) {
        backbone.unsupported(
            "out_features",
            fmt::format("'{}' is not supported (supported: stage1 to stage{})", text, count));
      }
      layers.push_back(layer);
    }
  }
  for (int64_t& layer : layers) {
    if (layer < 0) layer += count + 1;
    if (layer < 1 || layer > count) {
      backbone.unsupported("out_indices", fmt::format("{} is not one of {} layers", layer, count));
    }
  }
  return layers;
}

Tower read_backbone(const Config& config, DepthAnything& model) {
  constexpr std::string_view kKey = "backbone_config";
  config.require_flag("use_timm_backbone", false, false);
  config.require_absent("backbone");
  const auto part = config.find(kKey);
  const Config given(part ? *part
                          : Json::parse(R"({"image_size": 518, "hidden_size": 384,
                                                   "num_attention_heads": 6,
                                                   "out_indices": [9, 10, 11, 12],
                                                   "reshape_hidden_states": false})",
                                        config.json().where(kKey)));
  const Config backbone = given.with_default("patch_size", "14");
  const std::string type = backbone.text("model_type", "dinov2");
  if (type != "dinov2") {
    backbone.unsupported("model_type",
                         fmt::format("'{}' is not supported (supported: dinov2)", type));
  }
  Tower tower = dinov2_tower(backbone, 0);
  model.layers = read_out_layers(backbone, std::ssize(tower.net.layers));
  model.normed = backbone.flag("apply_layernorm", true);
  backbone.require_flag("reshape_hidden_states", true, false);
  backbone.refuse_unread();
  return tower;
}

DepthAnything read_depth_anything(const Config& config, std::vector<std::string>& unused) {
  DepthAnything model;
  model.tower = read_backbone(config, model);
  nn::VisionTransformerOptions& net = model.tower.net;
  const int64_t patch = config.size("patch_size", 14, kMostPixels);
  if (net.patches.height != patch || net.patches.width != patch) {
    config.invalid("patch_size", fmt::format("{}, that of backbone_config is {}x{}", patch,
                                             net.patches.height, net.patches.width));
  }
  if (config.size("reassemble_hidden_size", 384) != net.features()) {
    config.invalid("reassemble_hidden_size", fmt::format("the backbone has {}", net.features()));
  }
  constexpr int64_t kMostWidth = 1 << 16;
  model.widths = size_list(config, "neck_hidden_sizes", {48, 96, 192, 384}, kMostWidth);
  const auto given = config.find("reassemble_factors");
  model.factors = given ? given->as_floats() : std::vector<double>{4, 2, 1, 0.5};
  model.factors.resize(std::min(model.factors.size(), model.widths.size()));
  if (model.widths.size() != model.layers.size() || model.factors.size() != model.layers.size()) {
    config.invalid("neck_hidden_sizes",
                   fmt::format("{} and {} reassemble_factors for {} layers of the backbone",
                               model.widths.size(), model.factors.size(), model.layers.size()));
  }
  for (const double factor : model.factors) {
    const double step = factor >= 1 ? factor : 1 / factor;
    if (step >= 1 && step <= 64 && step == std::round(step)) continue;
    config.invalid("reassemble_factors", fmt::format("{} is not N or 1 / N up to 64", factor));
  }
  model.fused = config.size("fusion_hidden_size", 64, kMostWidth);
  model.hidden = config.size("head_hidden_size", 32, kMostWidth);
  const auto count = std::ssize(model.layers);
  const auto index = config.find("head_in_index");
  const int64_t taken = index ? index->as_int() : -1;
  if (taken < -count || taken >= count) {
    config.invalid("head_in_index", fmt::format("{} is not one of {} layers", taken, count));
  }
  model.taken = static_cast<size_t>(taken < 0 ? taken + count : taken);
  const std::string kind = config.text("depth_estimation_type", "relative");
  if (kind != "relative" && kind != "metric") {
    config.unsupported("depth_estimation_type",
                       fmt::format("'{}' is not supported (supported: relative, metric)", kind));
  }
  model.metric = kind == "metric";
  const auto most = config.find("max_depth");
  if (most && most->as_float() != 0) model.scale = config.number("max_depth", 1);

  const int64_t last = *std::max_element(model.layers.begin(), model.layers.end());
  unused = {"backbone.embeddings.mask_token", "neck.fusion_stage.layers.0.residual_layer1."};
  for (int64_t i = last; i < std::ssize(net.layers); ++i) {
    unused.push_back(fmt::format("backbone.{}.{}.", net.layers_path, i));
  }
  for (size_t i = model.taken + 1; i < model.layers.size(); ++i) {
    unused.push_back(fmt::format("neck.fusion_stage.layers.{}.", i));
  }
  net.layers.resize(static_cast<size_t>(last));
  net.final_norm.clear();
  if (!model.normed) unused.emplace_back("backbone.layernorm.");
  return model;
}

}  // namespace

VisionDescription depth_anything(const Config& config) {
  MapNetwork network;
  network.result = VisionResult::DepthMap;
  const DepthAnything model = read_depth_anything(config, network.unused);
  const nn::PatchEmbeddingOptions patches = model.tower.net.patches;
  network.channels = patches.channels;
  network.least_pixels = std::max(patches.height, patches.width);
  network.grid = [model, patches](nn::Grid pixels) {
    const nn::Grid grid = model.patches(pixels);
    return nn::Grid{grid.height * patches.height, grid.width * patches.width};
  };
  network.planes = [model](const nn::Parameters& parameters, const Array& pixels) {
    return model.planes(parameters, pixels);
  };
  return description_of(std::move(network));
}

}  // namespace pippin::models::vision
