#include "pippin/models/vision/naflex.h"

#include <cmath>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pippin/base/error.h"
#include "pippin/models/vision/patch_inputs.h"
#include "pippin/models/vision/tiles.h"
#include "pippin/models/vision/vision_config.h"
#include "pippin/nn/layers/linear.h"

namespace pippin::models::vision {

image::VisionPasses NaflexTower::passes(const image::ImageInputs& inputs, int64_t factor) const {
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

array::Array NaflexTower::states(const nn::Parameters& at, const array::Array& pixels,
                                 const image::VisionShape& shape) const {
  const PatchGrid grid = grid_of(shape);
  const nn::Linear embedding(at.at(patches.path), patches.size(), patches.features, /*bias=*/true);
  return nn::PatchTransformer(at, tower)(embedding(patches_of(pixels, grid, patches.size())),
                                         grid.grid);
}

NaflexTower naflex_tower(const Config& vision) {
  const nn::VisionTransformerOptions siglip = siglip_like(vision).net;
  NaflexTower model{siglip.patches, patch_tower(siglip)};
  const int64_t positions = vision.size("num_patches", 256);
  const auto side = static_cast<int64_t>(std::sqrt(static_cast<double>(positions)));
  if (side * side != positions) {
    vision.invalid("num_patches", fmt::format("{} is not a square", positions));
  }
  model.tower.grid = {side, side};
  model.tower.resizing = {.kind = nn::GridResizing::Kind::Bilinear, .antialias = true};
  return model;
}

}  // namespace pippin::models::vision
