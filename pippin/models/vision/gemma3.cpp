// Gemma 3 (Google) from 4B on, and PaliGemma: SigLIP's tower. Gemma 3 takes means of neighbouring
// patches, normalizes them, and both multiply by one matrix.
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "pippin/array/ops.h"
#include "pippin/models/config/common.h"
#include "pippin/models/vision/tile_tower.h"
#include "pippin/nn/layers/norm.h"
#include "pippin/nn/vision/grid_rows.h"
#include "pippin/nn/vision/projector.h"

namespace pippin::models::vision {

VisionDescription gemma3(const Config& config) {
  TileTower model;
  model.tower = tower_of(config);
  model.runs = TileRuns::Each;
  add_unused("head", model.unused);
  model.rows = config.size("mm_tokens_per_image", 256);
  const nn::Grid grid = model.tower.net.grid;
  const auto side = static_cast<int64_t>(std::sqrt(static_cast<double>(model.rows)));
  if (side * side != model.rows || grid.height != grid.width || grid.height % side != 0) {
    config.invalid("mm_tokens_per_image", fmt::format("{} rows cannot be made of {}x{} patches",
                                                      model.rows, grid.height, grid.width));
  }
  const int64_t factor = grid.height / side, width = text_width(config);
  nn::NormOptions norm{.epsilon = model.tower.net.norm.epsilon,
                       .one_plus = !config.flag(kPlainNorms, false)};
  model.project = [=](const nn::Parameters& parameters, const array::Array& states) {
    constexpr std::string_view kMatrix = "mm_input_projection_weight";
    const nn::Parameters at = projector_of(parameters, kMatrix);
    const int64_t features = states.dim(2).constant();
    const std::vector<int64_t> dims = at.shape(kMatrix);
    const int64_t outputs = width > 0 || dims.size() != 2 ? width : dims[1];
    const array::Array pooled = nn::pool_patches(states, grid, factor);
    const array::Array normed = nn::Norm(at.at("mm_soft_emb_norm"), features, norm)(pooled);
    return nn::Linear(at.path(),
                      at.get(kMatrix, {outputs, features}, {.transposed = true}))(normed);
  };
  return description_of(std::move(model));
}

VisionDescription paligemma(const Config& config) {
  TileTower model;
  model.tower = tower_of(config);
  add_unused("head", model.unused);
  model.rows = model.tower.net.grid.count();
  const int64_t width = text_width(config);
  model.project = [width](const nn::Parameters& parameters, const array::Array& states) {
    const nn::Parameters at = projector_of(parameters, "linear.weight").at("linear");
    return nn::projection_of(at, states.dim(2).constant(), width, /*bias=*/true)(states);
  };
  return description_of(std::move(model));
}

}  // namespace pippin::models::vision
