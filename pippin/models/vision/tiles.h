// Images as tiles of equal size, each of which a tower turns into the same number of rows.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "pippin/image/image_inputs.h"
#include "pippin/image/vision_pass.h"

namespace pippin::models::vision {

// The tiles of pixel_values (tiles, channels, height, width) or (1, tiles, ...).
struct Tiles {
  int64_t count = 0, channels = 0, height = 0, width = 0;
  int64_t pixels() const { return channels * height * width; }
};
// Throws InvalidArgument for other shapes, and for another number of values.
Tiles tiles_of(const image::ImageInputs& inputs);
// The same, which must have these sizes.
Tiles tiles_of(const image::ImageInputs& inputs, int64_t channels, int64_t height, int64_t width);

// The number of values that the dims of pixel_values say, which must be those that it has.
int64_t check_pixels(const image::ImageInputs& inputs);
// tiles_of() for another array of the inputs.
Tiles tiles_of_array(const image::FloatArray& array, std::string_view name);

// Passes over all tiles in order, several at once where that reads weights less often. A pass of n
// tiles has shape.pixels (n, channels, height, width). `patches` is the number of rows of a tile in
// the tower.
std::vector<image::VisionPass> passes_over(const Tiles& tiles, int64_t patches);

// Rows [first, first + count).
image::VisionRun run_of(int64_t first, int64_t count);

// passes_over(), and a run for each tile, or one for all of them.
enum class TileRuns { Each, All };
image::VisionPasses tile_passes(const Tiles& tiles, int64_t patches, int64_t rows, TileRuns runs);

}  // namespace pippin::models::vision
