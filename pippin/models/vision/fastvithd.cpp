#include "pippin/models/vision/fastvithd.h"

#include <array>
#include <charconv>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "pippin/array/ops.h"
#include "pippin/models/config/common.h"
#include "pippin/models/vision/tiles.h"
#include "pippin/models/vision/tower_description.h"
#include "pippin/models/vision/vision_config.h"
#include "pippin/nn/layers/batch_norm.h"
#include "pippin/nn/layers/convolution.h"
#include "pippin/nn/layers/norm.h"
#include "pippin/nn/vision/grid_attention.h"
#include "pippin/nn/vision/grid_rows.h"
#include "pippin/nn/vision/projector.h"

namespace pippin::models::vision {
namespace {

using array::Array;

// Of each stage: its blocks. The last two attend, after positions by a convolution.
constexpr std::array<int64_t, 5> kBlocks = {2, 12, 24, 4, 2};
constexpr size_t kFirstAttention = 3;
// Pixels of a side that become one row.
constexpr int64_t kStride = 64;
constexpr int64_t kHeadDim = 32;
constexpr std::string_view kTower = "mobileclip_l_";

// Branches of training are one convolution in published files.
struct FastVit {
  int64_t side = 1024;      // of an image, in pixels
  int64_t features = 3072;  // of a row before the projector
  int64_t width = 0;        // after it

  image::VisionPasses passes(const image::ImageInputs& inputs) const {
    const int64_t rows = side / kStride * (side / kStride);
    return tile_passes(tiles_of(inputs, 3, side, side), rows, rows, TileRuns::Each);
  }
  Array record(const nn::Parameters& parameters, const Array& pixels,
               const image::VisionShape& shape) const;

 private:
  int64_t channels(size_t stage) const { return features >> (kBlocks.size() - stage); }
  Array tower(const nn::Parameters& parameters, const Array& pixels) const;
};

struct FastVitLayer {
  int64_t to = 0, size = 1, stride = 1;
  bool depthwise = false;  // each channel by itself, or each of its own outputs
};

Array convolved(const nn::Parameters& parameters, const FastVitLayer& layer, const Array& x) {
  const int64_t from = x.dim(1).constant(), around = layer.size / 2;
  return nn::Convolution(parameters,
                         {.dims = {layer.to, layer.depthwise ? 1 : from, layer.size, layer.size},
                          .strides = {layer.stride},
                          .groups = layer.depthwise ? from : 1,
                          .padding = {around, around, around, around}})(x);
}

// Half as many pixels of each side, and another number of channels.
Array halved(const nn::Parameters& parameters, int64_t to, const Array& x) {
  const nn::Parameters proj = parameters.at("proj");
  const Array large = gelu(convolved(proj.at(0).at("lkb_reparam"),
                                     {.to = to, .size = 7, .stride = 2, .depthwise = true}, x));
  return gelu(convolved(proj.at(1).at("reparam_conv"), {.to = to}, large));
}

// A factor for each channel.
Array scaled(const nn::Parameters& parameters, std::string_view name, const Array& x) {
  return x * parameters.get(name, {x.dim(1).constant(), 1, 1});
}

Array feed_forward(const nn::Parameters& parameters, const Array& x) {
  constexpr int64_t kWider = 4, kSize = 7;
  const int64_t channels = x.dim(1).constant();
  const nn::Parameters conv = parameters.at("conv");
  const Array mixed = nn::batch_normed(conv.at("conv"), conv.at("bn"),
                                       {.dims = {channels, 1, kSize, kSize},
                                        .bias = false,
                                        .groups = channels,
                                        .padding = std::vector<int64_t>(4, kSize / 2)})(x);
  const Array wide = gelu(convolved(parameters.at("fc1"), {.to = kWider * channels}, mixed));
  return convolved(parameters.at("fc2"), {.to = channels}, wide);
}

Array attention_block(const nn::Parameters& parameters, const Array& x) {
  const int64_t channels = x.dim(1).constant();
  const nn::Grid grid{x.dim(2).constant(), x.dim(3).constant()};
  const nn::Norm norm(parameters.at("norm"), channels,
                      {.kind = nn::NormOptions::Kind::Layer, .epsilon = 1e-5, .bias = true});
  const nn::GridAttention attention(parameters.at("token_mixer"), {.features = channels,
                                                                   .num_heads = channels / kHeadDim,
                                                                   .height = grid.height,
                                                                   .width = grid.width,
                                                                   .bias = false});
  const Array seen = nn::planes_of_rows(attention(norm(nn::rows_of_planes(x))), grid);
  const Array y = x + scaled(parameters, "layer_scale_1", seen);
  return y + scaled(parameters, "layer_scale_2", feed_forward(parameters.at("convffn"), y));
}

Array mixer_block(const nn::Parameters& parameters, const Array& x) {
  const Array y = convolved(parameters.at("token_mixer").at("reparam_conv"),
                            {.to = x.dim(1).constant(), .size = 3, .depthwise = true}, x);
  return y + scaled(parameters, "layer_scale", feed_forward(parameters.at("convffn"), y));
}

// Channels scaled by what all places say of them (squeeze and excitation).
Array excited(const nn::Parameters& parameters, const Array& x) {
  constexpr int64_t kNarrower = 16;
  const int64_t channels = x.dim(1).constant();
  const Array mean = array::reduce_mean(x, {2, 3}, /*keep_dims=*/true);
  const Array narrow =
      array::relu(convolved(parameters.at("reduce"), {.to = channels / kNarrower}, mean));
  return x * array::sigmoid(convolved(parameters.at("expand"), {.to = channels}, narrow));
}

Array FastVit::tower(const nn::Parameters& parameters, const Array& pixels) const {
  const nn::Parameters stem = parameters.at("patch_embed"), network = parameters.at("network");
  const auto stem_layer = [&](int64_t index, const FastVitLayer& layer, const Array& x) {
    return gelu(convolved(stem.at(index).at("reparam_conv"), layer, x));
  };
  const int64_t first = channels(0);
  Array x = stem_layer(0, {.to = first, .size = 3, .stride = 2}, pixels);
  x = stem_layer(1, {.to = first, .size = 3, .stride = 2, .depthwise = true}, x);
  x = stem_layer(2, {.to = first}, x);
  int64_t index = 0;
  for (size_t stage = 0; stage < kBlocks.size(); ++stage) {
    if (stage > 0) x = halved(network.at(index++), channels(stage), x);
    const bool attends = stage >= kFirstAttention;
    if (attends) {
      x = convolved(network.at(index++).at("reparam_conv"),
                    {.to = channels(stage), .size = 7, .depthwise = true}, x);
    }
    const nn::Parameters blocks = network.at(index++);
    for (int64_t block = 0; block < kBlocks[stage]; ++block) {
      x = attends ? attention_block(blocks.at(block), x) : mixer_block(blocks.at(block), x);
    }
  }
  const nn::Parameters last = parameters.at("conv_exp");
  const Array wide =
      convolved(last.at("reparam_conv"), {.to = features, .size = 3, .depthwise = true}, x);
  return gelu(excited(last.at("se"), wide));
}

Array FastVit::record(const nn::Parameters& parameters, const Array& pixels,
                      const image::VisionShape& /*shape*/) const {
  const Array planes =
      tower(parameters.at("model").at("vision_tower").at("vision_tower").at("model"), pixels);
  return fastvlm_projected(parameters, nn::rows_of_planes(planes), width);
}

// The pixels of a side, which the tower's name ends with.
int64_t side_of(const Config& config) {
  constexpr std::string_view kKey = "mm_vision_tower";
  const std::string name = config.text(kKey, "mobileclip_l_1024");
  if (!name.starts_with(kTower)) {
    config.unsupported(kKey,
                       fmt::format("'{}' is not supported (supported: {}SIDE)", name, kTower));
  }
  int64_t side = 0;
  const char* const begin = name.data() + kTower.size();
  const char* const end = name.data() + name.size();
  const auto parsed = std::from_chars(begin, end, side);
  if (parsed.ec != std::errc() || parsed.ptr != end || side < kStride || side % kStride != 0 ||
      side > kMostPixels) {
    config.invalid(kKey,
                   fmt::format("'{}' does not end with a multiple of {} pixels", name, kStride));
  }
  return side;
}

}  // namespace

Array fastvlm_projected(const nn::Parameters& parameters, const Array& features, int64_t width) {
  nn::ProjectorOptions options{.features = features.dim(2).constant(),
                               .hidden_features = width,
                               .output_features = width,
                               .norm = {},
                               .first = "linear_0",
                               .second = "linear_2"};
  const nn::Parameters own = parameters.at("multi_modal_projector");
  if (own.contains("linear_0.weight")) return nn::Projector(own, options)(features);
  constexpr std::string_view kBases[] = {"model.mm_projector", "mm_projector"};
  options.first = "0";
  options.second = "2";
  return nn::Projector(part_with(parameters, kBases, "0.weight"), options)(features);
}

VisionDescription llava_qwen2_vision(const Config& config) {
  FastVit model;
  model.side = side_of(config);
  model.features = config.size("mm_hidden_size", 3072);
  model.width = config.size("hidden_size", 0);
  // The narrowest stage that attends has a quarter of the channels.
  constexpr int64_t kMultiple = 4 * kHeadDim;
  if (model.features % kMultiple != 0) {
    config.invalid("mm_hidden_size",
                   fmt::format("{} is not a multiple of {}", model.features, kMultiple));
  }
  constexpr std::string_view kProjector = "mm_projector_type";
  const std::string projector = config.text(kProjector, "mlp2x_gelu");
  if (projector != "mlp2x_gelu") {
    config.unsupported(kProjector,
                       fmt::format("'{}' is not supported (supported: mlp2x_gelu)", projector));
  }
  VisionDescription description = description_of(std::move(model));
  // The classifier's.
  description.unused = {"model.vision_tower.vision_tower.model.head."};
  return description;
}

}  // namespace pippin::models::vision
