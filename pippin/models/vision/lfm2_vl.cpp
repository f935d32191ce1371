// LFM2-VL (Hugging Face): SigLIP 2's tower for images of any size (NaFlex) over each tile and the
// whole image, and neighbouring patches joined.
#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pippin/array/ops.h"
#include "pippin/base/error.h"
#include "pippin/models/config/common.h"
#include "pippin/models/vision/patch_inputs.h"
#include "pippin/models/vision/tiles.h"
#include "pippin/models/vision/tower_description.h"
#include "pippin/models/vision/vision_config.h"
#include "pippin/nn/vision/grid_rows.h"
#include "pippin/nn/vision/projector.h"

namespace pippin::models::vision {
namespace {

struct Lfm2Tower {
  nn::PatchEmbeddingOptions patches;
  nn::PatchTransformerOptions tower;
  nn::ProjectorOptions projector;
  int64_t factor = 2;

  image::VisionPasses passes(const image::ImageInputs& inputs) const;
  array::Array record(const nn::Parameters& parameters, const array::Array& pixels,
                      const image::VisionShape& shape) const;
};

image::VisionPasses Lfm2Tower::passes(const image::ImageInputs& inputs) const {
  check_pixels(inputs);
  const std::vector<int64_t>& dims = inputs.pixel_values.shape;
  const image::IntArray& shapes = table_of(inputs, "spatial_shapes", 2);
  const int64_t size = patches.size(), joined = factor * factor;
  const bool is_table = dims.size() == 3 && dims[0] == shapes.shape[0] && dims[2] == size;
  image::VisionPasses passes;
  passes.passes.reserve(static_cast<size_t>(shapes.shape[0]));
  passes.runs.reserve(static_cast<size_t>(shapes.shape[0]));
  int64_t rows = 0;
  for (int64_t tile = 0; tile < shapes.shape[0]; ++tile) {
    const int64_t height = shapes.values[static_cast<size_t>(2 * tile)];
    const int64_t width = shapes.values[static_cast<size_t>(2 * tile + 1)];
    const bool fits = is_table && height >= 1 && width >= 1 && height <= kMostPixels &&
                      width <= kMostPixels && height * width <= dims[1] && height % factor == 0 &&
                      width % factor == 0;
    if (!fits) {
      fail(ErrorCode::InvalidArgument,
           "spatial_shapes ({}), pixel_values ({}): tiles of patches of {} numbers are expected, "
           "in grids whose height and width are multiples of {}",
           fmt::join(shapes.values, ", "), fmt::join(dims, ", "), size, factor);
    }
    // The padding after a tile's patches is not read.
    passes.passes.push_back({{{height * width, size}, {1, height, width}}, tile * dims[1] * size});
    passes.runs.push_back(run_of(rows, height * width / joined));
    rows += height * width / joined;
  }
  return passes;
}

array::Array Lfm2Tower::record(const nn::Parameters& parameters, const array::Array& pixels,
                               const image::VisionShape& shape) const {
  const nn::Parameters at = vision_tower_of(parameters);
  const PatchGrid grid = grid_of(shape);
  const nn::Linear embedding(at.at(patches.path), patches.size(), patches.features, /*bias=*/true);
  const array::Array embedded = embedding(patches_of(pixels, grid, patches.size()));
  const array::Array states = nn::PatchTransformer(at, tower)(embedded, grid.grid);
  return nn::Projector(projector_of(parameters, "linear_1.weight"),
                       projector)(nn::join_patches(states, grid.grid, factor));
}

}  // namespace

VisionDescription lfm2_vl(const Config& config) {
  const Config vision = vision_part(config);
  const nn::VisionTransformerOptions siglip = siglip_like(vision).net;
  Lfm2Tower model;
  model.patches = siglip.patches;
  model.tower = patch_tower(siglip);
  const int64_t positions = vision.size("num_patches", 256);
  const auto side = static_cast<int64_t>(std::sqrt(static_cast<double>(positions)));
  if (side * side != positions) {
    vision.invalid("num_patches", fmt::format("{} is not a square", positions));
  }
  model.tower.grid = {side, side};
  model.tower.resizing = {.kind = nn::GridResizing::Kind::Bilinear, .antialias = true};
  vision.refuse_unread();
  const auto layer = config.find("vision_feature_layer");
  if (layer && layer->as_int() != -1) {
    config.unsupported("vision_feature_layer", "layers before the last one are not supported");
  }
  model.factor = config.size("downsample_factor", 2, 64);
  model.projector = {.features = model.tower.features * model.factor * model.factor,
                     .hidden_features = config.size("projector_hidden_size", 2560),
                     .output_features = text_width(config),
                     .norm = {},
                     .bias = config.flag("projector_bias", true),
                     .activation = config.activation("projector_hidden_act", "gelu")};
  if (config.flag("projector_use_layernorm", true)) {
    model.projector.norm = {"layer_norm",
                            {.kind = nn::NormOptions::Kind::Layer, .epsilon = 1e-5, .bias = true}};
  }
  VisionDescription description = description_of(std::move(model));
  add_unused("head", description.unused);
  return description;
}

}  // namespace pippin::models::vision
