#include "pippin/models/vision/tiles.h"

#include <numeric>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pippin/base/error.h"
#include "pippin/base/numbers/checked.h"

namespace pippin::models::vision {
namespace {

std::string dims_text(const std::vector<int64_t>& dims) {
  return fmt::format("({})", fmt::join(dims, ", "));
}

int64_t check_array(const image::FloatArray& array, std::string_view name) {
  int64_t count = 1;
  for (const int64_t dim : array.shape) {
    const auto product = dim > 0 ? checked_mul(count, dim) : std::nullopt;
    if (!product) {
      fail(ErrorCode::InvalidArgument, "{} {}: impossible sizes", name, dims_text(array.shape));
    }
    count = *product;
  }
  if (count != std::ssize(array.values)) {
    fail(ErrorCode::InvalidArgument, "{} {}: {} numbers, not {}", name, dims_text(array.shape),
         array.values.size(), count);
  }
  return count;
}

}  // namespace

int64_t check_pixels(const image::ImageInputs& inputs) {
  return check_array(inputs.pixel_values, "pixel_values");
}

Tiles tiles_of_array(const image::FloatArray& array, std::string_view name) {
  check_array(array, name);
  std::vector<int64_t> dims = array.shape;
  if (dims.size() == 5 && dims.front() == 1) dims.erase(dims.begin());
  if (dims.size() != 4) {
    fail(ErrorCode::InvalidArgument,
         "{} {}: tiles (tiles, channels, height, width) of one image are expected", name,
         dims_text(array.shape));
  }
  return {dims[0], dims[1], dims[2], dims[3]};
}

Tiles tiles_of(const image::ImageInputs& inputs) {
  return tiles_of_array(inputs.pixel_values, "pixel_values");
}

Tiles tiles_of(const image::ImageInputs& inputs, int64_t channels, int64_t height, int64_t width) {
  const Tiles tiles = tiles_of(inputs);
  if (tiles.channels != channels || tiles.height != height || tiles.width != width) {
    fail(ErrorCode::InvalidArgument,
         "pixel_values {}: the model takes tiles of {} channels and {}x{} pixels",
         dims_text(inputs.pixel_values.shape), channels, height, width);
  }
  return tiles;
}

std::vector<image::VisionPass> passes_over(const Tiles& tiles, int64_t patches) {
  // Products of so many rows are no faster with more.
  constexpr int64_t kEnoughRows = 512;
  int64_t batch = 1;
  for (int64_t n = 2; n <= tiles.count && n * patches <= kEnoughRows; ++n) {
    if (tiles.count % n == 0) batch = n;
  }
  std::vector<image::VisionPass> passes;
  passes.reserve(static_cast<size_t>(tiles.count / batch));
  for (int64_t tile = 0; tile < tiles.count; tile += batch) {
    passes.push_back(
        {{{batch, tiles.channels, tiles.height, tiles.width}, {}}, tile * tiles.pixels()});
  }
  return passes;
}

image::VisionRun run_of(int64_t first, int64_t count) {
  image::VisionRun run;
  run.rows.resize(static_cast<size_t>(count));
  std::iota(run.rows.begin(), run.rows.end(), first);
  return run;
}

image::VisionPasses tile_passes(const Tiles& tiles, int64_t patches, int64_t rows, TileRuns runs) {
  image::VisionPasses passes{passes_over(tiles, patches), {}};
  if (runs == TileRuns::All) {
    passes.runs = {run_of(0, tiles.count * rows)};
    return passes;
  }
  passes.runs.reserve(static_cast<size_t>(tiles.count));
  for (int64_t tile = 0; tile < tiles.count; ++tile) {
    passes.runs.push_back(run_of(tile * rows, rows));
  }
  return passes;
}

}  // namespace pippin::models::vision
