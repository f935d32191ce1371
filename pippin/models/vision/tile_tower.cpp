#include "pippin/models/vision/tile_tower.h"

#include <cmath>
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

int64_t inverse_ratio(const Config& config, std::string_view key, double fallback) {
  const double ratio = config.number(key, fallback);
  const double factor = std::round(1 / ratio);
  if (factor < 1 || factor > 64 || std::abs(factor * ratio - 1) > 1e-9) {
    config.invalid(key, fmt::format("{} is not 1 / N with N up to 64", ratio));
  }
  return static_cast<int64_t>(factor);
}

int64_t joined_rows(const Config& config, std::string_view key, nn::Grid grid, int64_t factor) {
  if (grid.height % factor != 0 || grid.width % factor != 0) {
    config.invalid(key, fmt::format("{} does not divide a grid of {}x{} patches", factor,
                                    grid.height, grid.width));
  }
  return grid.count() / (factor * factor);
}

}  // namespace pippin::models::vision
