// MiniCPM-V 4.6 (Hugging Face): SigLIP's layers over an image and its slices. Blocks of patches are
// merged after one of the first layers ("16x") and at the end, once or several times.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pippin/array/ops.h"
#include "pippin/base/error.h"
#include "pippin/base/numbers/checked.h"
#include "pippin/models/config/common.h"
#include "pippin/models/vision/patch_inputs.h"
#include "pippin/models/vision/tiles.h"
#include "pippin/models/vision/tower_description.h"
#include "pippin/models/vision/vision_config.h"
#include "pippin/nn/vision/grid_rows.h"
#include "pippin/nn/vision/projector.h"
#include "pippin/nn/vision/vision_layers.h"

namespace pippin::models::vision {
namespace {

// Patches of the side of a block.
constexpr int64_t kBlock = 2;

struct MiniCpmTower {
  nn::VisionTransformerOptions siglip;
  std::optional<int64_t> merged_after;  // the layer before the first merger
  int64_t mergers = 1;                  // at the end
  int64_t width = 0;

  // Patches of the side of the square that becomes a row.
  int64_t side() const {
    return static_cast<int64_t>(std::pow(kBlock, mergers + (merged_after ? 1 : 0)));
  }

  image::VisionPasses passes(const image::ImageInputs& inputs) const;
  array::Array record(const nn::Parameters& parameters, const array::Array& pixels,
                      const image::VisionShape& shape) const;

 private:
  array::Array positions(const nn::Parameters& at, nn::Grid grid) const;
  // States (slices, patches, features) to those of blocks.
  array::Array merged(const nn::Parameters& merger, const array::Array& states,
                      nn::Grid grid) const;
  // The same to rows of the language model's width.
  array::Array ended(const nn::Parameters& mergers_at, array::Array states, nn::Grid grid) const;
};

image::VisionPasses MiniCpmTower::passes(const image::ImageInputs& inputs) const {
  check_pixels(inputs);
  const image::IntArray& targets = table_of(inputs, "target_sizes", 2);
  std::vector<int64_t> dims = inputs.pixel_values.shape;
  if (dims.size() == 3) dims.insert(dims.begin(), 1);
  const int64_t square = side() * side();
  image::VisionPasses passes;
  passes.runs.reserve(static_cast<size_t>(targets.shape[0]));
  int64_t patches = 0, rows = 0;
  bool fits = dims.size() == 4 && dims[0] == 1 && dims[1] == siglip.patches.channels &&
              dims[2] == siglip.patches.height && dims[3] % siglip.patches.width == 0;
  for (size_t i = 0; i < targets.values.size(); i += 2) {
    const int64_t height = targets.values[i], width = targets.values[i + 1];
    fits = fits && height >= 1 && width >= 1 && height <= kMostPixels && width <= kMostPixels &&
           height % side() == 0 && width % side() == 0;
    const auto sum = fits ? checked_add(patches, height * width) : std::nullopt;
    fits = sum.has_value();
    if (!fits) break;
    patches = *sum;
    passes.runs.push_back(run_of(rows, height * width / square));
    rows += height * width / square;
  }
  if (!fits || dims[3] / siglip.patches.width != patches) {
    fail(ErrorCode::InvalidArgument,
         "pixel_values ({}), target_sizes ({}): the patches of an image and its slices are "
         "expected, {} channels and {}x{} pixels each, in grids whose height and width are "
         "multiples of {}",
         fmt::join(inputs.pixel_values.shape, ", "), fmt::join(targets.values, ", "),
         siglip.patches.channels, siglip.patches.height, siglip.patches.width, side());
  }
  passes.passes = {{{std::move(dims), targets.values}, 0}};
  return passes;
}

array::Array MiniCpmTower::positions(const nn::Parameters& at, nn::Grid grid) const {
  const nn::Grid& table = siglip.grid;
  const int64_t features = siglip.features();
  const std::string name = fmt::format("{}.{}x{}", siglip.positions, grid.height, grid.width);
  const std::vector<int64_t> dims = {grid.count(), features};
  return at.made(name, dims, [&](const std::string& full) {
    const std::vector<double> stored = at.values(siglip.positions, {table.count(), features});
    std::vector<double> rows;
    rows.reserve(static_cast<size_t>(grid.count() * features));
    // The places at the same share of the sides.
    for (int64_t i = 0; i < grid.count(); ++i) {
      const int64_t row = i / grid.width * table.height / grid.height;
      const int64_t column = i % grid.width * table.width / grid.width;
      const auto found = stored.begin() + (row * table.width + column) * features;
      rows.insert(rows.end(), found, found + features);
    }
    return array::constant(at.type(), dims, rows, full);
  });
}

array::Array MiniCpmTower::merged(const nn::Parameters& merger, const array::Array& states,
                                  nn::Grid grid) const {
  constexpr int64_t kJoined = kBlock * kBlock;
  const array::Scope scope(merger.path());
  const int64_t features = siglip.features(), slices = states.dim(0).constant();
  const int64_t blocks = grid.count() / kJoined;
  const array::Array windows =
      array::reshape(nn::join_patches(states, grid, kBlock), {slices * blocks, kJoined, features});
  nn::LayerOptions attends = siglip.layers.front();
  attends.feed_forward = nn::NoFeedForwardOptions{};
  attends.mlp_norm.clear();
  attends.path = "vit_merger";
  const array::Array mixed = nn::VisionLayers(merger.parent(), {attends}).run(0, windows);
  const array::Array mean = array::reduce_mean(mixed, {1});
  const nn::Projector matrices(
      merger, {.features = kJoined * features,
               .hidden_features = kJoined * siglip.layers.front().mlp().hidden_features,
               .output_features = features,
               .norm = {"pre_norm", siglip.norm},
               .activation = nn::Activation::GeluTanh});
  const array::Array joined = array::reshape(mixed, {slices, blocks, kJoined * features});
  return matrices(joined) + array::reshape(mean, {slices, blocks, features});
}

array::Array MiniCpmTower::ended(const nn::Parameters& mergers_at, array::Array states,
                                 nn::Grid grid) const {
  const int64_t joined = kBlock * kBlock * siglip.features();
  const nn::NormOptions norm{.kind = nn::NormOptions::Kind::Layer, .epsilon = 1e-6, .bias = true};
  for (int64_t i = 0; i < mergers; ++i) {
    const nn::Projector merger(mergers_at.at(i),
                               {.features = joined,
                                .hidden_features = joined,
                                .output_features = i + 1 < mergers ? siglip.features() : width,
                                .norm = {"pre_norm", norm}});
    states = merger(nn::join_patches(states, grid, kBlock));
    grid = {grid.height / kBlock, grid.width / kBlock};
  }
  return states;
}

array::Array MiniCpmTower::record(const nn::Parameters& parameters, const array::Array& pixels,
                                  const image::VisionShape& shape) const {
  const nn::Parameters at = vision_tower_of(parameters);
  const array::Array all = nn::PatchEmbedding(at, siglip.patches)(pixels);
  const nn::VisionLayers layers(at.at(siglip.layers_path), siglip.layers);
  const nn::Norm last(at.at(siglip.final_norm), siglip.features(), siglip.norm);
  constexpr std::string_view kMergers[] = {"model.merger", "merger"};
  const nn::Parameters end = part_with(parameters, kMergers, "mlp.0.linear_1.weight").at("mlp");
  std::vector<array::Array> rows;
  int64_t begin = 0;
  // Slices of one size are computed together.
  for (size_t i = 0; i < shape.sizes.size();) {
    const nn::Grid grid{shape.sizes[i], shape.sizes[i + 1]};
    int64_t slices = 0;
    for (; i < shape.sizes.size() && grid == nn::Grid{shape.sizes[i], shape.sizes[i + 1]}; i += 2) {
      ++slices;
    }
    const int64_t end_of_slices = begin + slices * grid.count();
    array::Array x = array::reshape(array::slice_axis(all, 1, begin, end_of_slices),
                                    {slices, grid.count(), siglip.features()});
    x = x + positions(at, grid);
    nn::Grid now = grid;
    for (size_t layer = 0; layer < layers.size(); ++layer) {
      x = layers.run(layer, x);
      if (merged_after != static_cast<int64_t>(layer)) continue;
      x = merged(at.at("vit_merger"), x, grid);
      now = {grid.height / kBlock, grid.width / kBlock};
    }
    rows.push_back(frame_rows(ended(end, last(x), now), 1));
    begin = end_of_slices;
  }
  return rows.size() > 1 ? array::concat(rows, 1) : rows.front();
}

void require_blocks(const Config& config, std::string_view key) {
  const auto given = config.find(key);
  if (given && given->as_ints() != std::vector<int64_t>{kBlock, kBlock}) {
    config.unsupported(key, fmt::format("blocks other than [{0}, {0}] are not supported", kBlock));
  }
}

}  // namespace

VisionDescription minicpmv4_6(const Config& config) {
  const Config vision = vision_part(config);
  MiniCpmTower model;
  model.siglip = siglip_like(vision).net;
  require_blocks(vision, "window_kernel_size");
  require_blocks(config, "merge_kernel_size");
  model.mergers = config.size("merger_times", 1, 8);
  std::vector<std::string> unused;
  if (config.flag("drop_vision_last_layer", false)) {
    model.siglip.layers.pop_back();
    add_unused(fmt::format("encoder.layers.{}", model.siglip.layers.size()), unused);
  }
  const std::string mode = config.text("downsample_mode", "16x");
  if (mode != "16x" && mode != "4x") {
    config.unsupported("downsample_mode",
                       fmt::format("'{}' is not supported (supported: 16x, 4x)", mode));
  }
  // That of vision_config is not used.
  const auto given = config.find("insert_layer_id");
  const int64_t after = given ? given->as_int() : 6;
  if (mode == "4x") {
    add_unused("vit_merger", unused);
  } else if (after < 0 || after >= std::ssize(model.siglip.layers)) {
    config.invalid("insert_layer_id",
                   fmt::format("{} is not one of {} layers", after, model.siglip.layers.size()));
  } else {
    model.merged_after = after;
  }
  vision.refuse_unread();
  model.width = text_width(config);
  VisionDescription description = description_of(std::move(model));
  description.unused = std::move(unused);
  return description;
}

}  // namespace pippin::models::vision
