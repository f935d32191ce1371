#include "pippin/image/processors/tiles.h"

namespace pippin::image {

std::vector<Picture> tiles_of(const Picture& picture, Size tile) {
  std::vector<Picture> tiles;
  tiles.reserve(static_cast<size_t>((picture.height / tile.height) * (picture.width / tile.width)));
  for (int64_t top = 0; top + tile.height <= picture.height; top += tile.height) {
    for (int64_t left = 0; left + tile.width <= picture.width; left += tile.width) {
      tiles.push_back(cropped(picture, {top, left, tile}));
    }
  }
  return tiles;
}

std::vector<Picture> grid_tiles(const Picture& picture, Grid grid, Size tile,
                                const PixelOptions& options) {
  const Size size{tile.height * grid.rows, tile.width * grid.columns};
  return tiles_of(resampled(picture, size, options.filter, options.backend), tile);
}

FloatArray stacked(const std::vector<Picture>& tiles, const PixelOptions& options,
                   std::initializer_list<int64_t> leading) {
  FloatArray result{leading, {}};
  const Picture& first = tiles.at(0);
  for (const int64_t length :
       {static_cast<int64_t>(tiles.size()), int64_t{3}, first.height, first.width}) {
    result.shape.push_back(length);
  }
  result.values.reserve(tiles.size() * first.pixels.size());
  for (const Picture& tile : tiles) append_pixels(tile, options, result.values);
  return result;
}

}  // namespace pippin::image
