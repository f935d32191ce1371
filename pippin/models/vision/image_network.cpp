#include "pippin/models/vision/image_network.h"

#include <memory>
#include <utility>

#include "pippin/base/error.h"
#include "pippin/models/vision/tiles.h"
#include "pippin/models/vision/vision_config.h"
#include "pippin/nn/layers/linear.h"
#include "pippin/nn/vision/grid_rows.h"

namespace pippin::models::vision {
namespace {

Tiles images_of(const image::ImageInputs& inputs, int64_t channels, int64_t least) {
  const Tiles tiles = tiles_of(inputs);
  if (tiles.channels != channels || tiles.height < least || tiles.width < least) {
    fail(ErrorCode::InvalidArgument,
         "images of {} channels and {}x{} pixels: the model takes {} channels and {}x{} pixels or "
         "more",
         tiles.channels, tiles.height, tiles.width, channels, least, least);
  }
  return tiles;
}

}  // namespace

VisionDescription description_of(ImageNetwork network) {
  const auto shared = std::make_shared<const ImageNetwork>(std::move(network));
  VisionDescription description;
  description.result = shared->labels ? VisionResult::Scores : VisionResult::Vector;
  if (shared->labels) description.labels = *shared->labels;
  description.passes = [shared](const image::ImageInputs& inputs) {
    const Tiles tiles = images_of(inputs, shared->channels, shared->least_pixels);
    // The first convolution moves by several pixels.
    constexpr int64_t kStride = 4;
    const int64_t rows = tiles.height / kStride * (tiles.width / kStride);
    return tile_passes(tiles, rows, 1, TileRuns::Each);
  };
  description.record = [shared](const nn::Parameters& parameters, const array::Array& pixels,
                                const image::VisionShape& /*shape*/) {
    const std::string_view bases[] = {shared->base, ""};
    array::Array pooled = shared->pooled(part_with(parameters, bases, shared->tensor), pixels);
    if (!shared->labels) return pooled;
    return nn::Linear(parameters.at("classifier"), shared->features,
                      std::ssize(shared->labels->names), /*bias=*/true)(pooled);
  };
  return description;
}

VisionDescription description_of(MapNetwork network) {
  const auto shared = std::make_shared<const MapNetwork>(std::move(network));
  VisionDescription description;
  description.result = shared->result;
  description.labels = shared->labels;
  description.unused = shared->unused;
  description.passes = [shared](const image::ImageInputs& inputs) {
    const Tiles tiles = images_of(inputs, shared->channels, shared->least_pixels);
    const nn::Grid grid = shared->grid({tiles.height, tiles.width});
    image::VisionPasses passes;
    passes.passes.reserve(static_cast<size_t>(tiles.count));
    passes.runs.reserve(static_cast<size_t>(tiles.count));
    for (int64_t tile = 0; tile < tiles.count; ++tile) {
      passes.passes.push_back(
          {{{1, tiles.channels, tiles.height, tiles.width}, {1, grid.height, grid.width}},
           tile * tiles.pixels()});
      image::VisionRun run = run_of(tile * grid.count(), grid.count());
      run.grid = {1, grid.height, grid.width};
      passes.runs.push_back(std::move(run));
    }
    return passes;
  };
  description.record = [shared](const nn::Parameters& parameters, const array::Array& pixels,
                                const image::VisionShape& /*shape*/) {
    return nn::rows_of_planes(shared->planes(parameters, pixels));
  };
  return description;
}

}  // namespace pippin::models::vision
