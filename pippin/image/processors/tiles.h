// Pictures of equal size as one array.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "pippin/image/processors/pixels.h"
#include "pippin/image/processors/sizes.h"

namespace pippin::image {

// Returns the tiles of a picture whose sides are multiples of the tile's, row by row.
std::vector<Picture> tiles_of(const Picture& picture, Size tile);
// Resizes the picture to the grid and returns its tiles.
std::vector<Picture> grid_tiles(const Picture& picture, Grid grid, Size tile,
                                const PixelOptions& options);
// Returns [leading..., tiles, 3, height, width].
FloatArray stacked(const std::vector<Picture>& tiles, const PixelOptions& options,
                   std::initializer_list<int64_t> leading = {});

}  // namespace pippin::image
