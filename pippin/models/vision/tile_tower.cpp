#include "pippin/models/vision/tile_tower.h"

#include <memory>
#include <utility>

#include <fmt/format.h>

namespace pippin::models::vision {

VisionDescription description_of(TileTower tiles) {
  const auto shared = std::make_shared<const TileTower>(std::move(tiles));
  VisionDescription description;
  description.result = shared->result;
  description.unused = shared->unused;
  description.passes = [shared](const image::ImageInputs& inputs) {
    const Tower& tower = shared->tower;
    const Tiles found =
        tiles_of(inputs, tower.net.patches.channels, tower.image.height, tower.image.width);
    return tile_passes(found, tower.net.grid.count(), shared->rows, shared->runs);
  };
  description.record = [shared](const nn::Parameters& parameters, const array::Array& pixels,
                                const image::VisionShape& /*shape*/) {
    const nn::VisionTransformer tower(shared->part(parameters), shared->tower.net);
    return shared->project(parameters,
                           shared->keeps_class ? tower(pixels) : tower.of_patches(pixels));
  };
  return description;
}

int64_t joined_rows(const Config& config, std::string_view key, nn::Grid grid, int64_t factor) {
  if (grid.height % factor != 0 || grid.width % factor != 0) {
    config.invalid(key, fmt::format("{} does not divide a grid of {}x{} patches", factor,
                                    grid.height, grid.width));
  }
  return grid.count() / (factor * factor);
}

}  // namespace pippin::models::vision
