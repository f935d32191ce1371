#include "pippin/models/vision/image_network.h"

#include <memory>
#include <utility>

#include "pippin/base/error.h"
#include "pippin/models/vision/tiles.h"
#include "pippin/models/vision/vision_config.h"
#include "pippin/nn/layers/linear.h"

namespace pippin::models::vision {

VisionDescription description_of(ImageNetwork network) {
  const auto shared = std::make_shared<const ImageNetwork>(std::move(network));
  VisionDescription description;
  description.result = shared->labels ? VisionResult::Scores : VisionResult::Vector;
  if (shared->labels) description.labels = *shared->labels;
  description.passes = [shared](const image::ImageInputs& inputs) {
    const Tiles tiles = tiles_of(inputs);
    const int64_t least = shared->least_pixels;
    if (tiles.channels != shared->channels || tiles.height < least || tiles.width < least) {
      fail(ErrorCode::InvalidArgument,
           "images of {} channels and {}x{} pixels: the model takes {} channels and {}x{} pixels "
           "or more",
           tiles.channels, tiles.height, tiles.width, shared->channels, least, least);
    }
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

}  // namespace pippin::models::vision
