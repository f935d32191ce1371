#include "pippin/models/vision/patch_inputs.h"

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pippin/array/ops.h"
#include "pippin/base/error.h"
#include "pippin/base/numbers/checked.h"
#include "pippin/models/vision/tiles.h"

namespace pippin::models::vision {

using array::Array;

const image::IntArray& table_of(const image::ImageInputs& inputs, std::string_view name,
                                int64_t columns) {
  const auto found = inputs.sizes.find(std::string(name));
  if (found == inputs.sizes.end()) {
    fail(ErrorCode::InvalidArgument, "the image has no {}", name);
  }
  const image::IntArray& table = found->second;
  const bool fits = table.shape.size() == 2 && table.shape[0] >= 1 && table.shape[1] == columns &&
                    std::ssize(table.values) % columns == 0 &&
                    std::ssize(table.values) / columns == table.shape[0];
  if (!fits) {
    fail(ErrorCode::InvalidArgument, "{} ({}) with {} numbers: (rows, {}) is expected", name,
         fmt::join(table.shape, ", "), table.values.size(), columns);
  }
  return table;
}

PatchGrid patch_grid(const image::ImageInputs& inputs, int64_t features, int64_t factor) {
  constexpr std::string_view kKey = "image_grid_thw";
  const image::IntArray& table = table_of(inputs, kKey, 3);
  const int64_t numbers = check_pixels(inputs);
  const PatchGrid found{table.values[0], {table.values[1], table.values[2]}};
  const nn::Grid& grid = found.grid;
  bool fits = table.shape[0] == 1;
  for (const int64_t size : table.values) fits = fits && size >= 1 && size <= kMostPixels;
  fits = fits && grid.height % factor == 0 && grid.width % factor == 0;
  const auto area = fits ? checked_mul(found.frames, grid.count()) : std::nullopt;
  const auto wanted = area ? checked_mul(*area, features) : std::nullopt;
  if (!wanted || *wanted != numbers || inputs.pixel_values.shape.front() != *area) {
    fail(ErrorCode::InvalidArgument,
         "{} ({}), pixel_values ({}): one image of patches of {} numbers is expected, in a grid "
         "whose height and width are multiples of {}",
         kKey, fmt::join(table.values, ", "), fmt::join(inputs.pixel_values.shape, ", "), features,
         factor);
  }
  return found;
}

image::VisionPasses grid_passes(const image::ImageInputs& inputs, const PatchGrid& grid,
                                int64_t factor, bool split) {
  image::VisionPass pass{{inputs.pixel_values.shape, {1, grid.grid.height, grid.grid.width}}, 0};
  pass.shape.pixels.front() = grid.grid.count();
  const int64_t numbers = std::ssize(inputs.pixel_values.values) / grid.frames;
  const int64_t rows = grid.grid.count() / (factor * factor);
  const int64_t run_frames = split ? 1 : grid.frames;
  image::VisionPasses passes;
  for (int64_t frame = 0; frame < grid.frames; ++frame) {
    pass.first = frame * numbers;
    passes.passes.push_back(pass);
    if (frame % run_frames != 0) continue;
    image::VisionRun run = run_of(frame * rows, run_frames * rows);
    run.grid = {run_frames, grid.grid.height / factor, grid.grid.width / factor};
    passes.runs.push_back(std::move(run));
  }
  return passes;
}

PatchGrid grid_of(const image::VisionShape& shape) {
  return {shape.sizes.at(0), {shape.sizes.at(1), shape.sizes.at(2)}};
}

Array patches_of(const Array& pixels, const PatchGrid& grid, int64_t features) {
  return array::reshape(pixels, {grid.frames, grid.grid.count(), features});
}

Array frame_rows(const Array& states, int64_t joined) {
  const int64_t patches = states.dim(0).constant() * states.dim(1).constant();
  return array::reshape(states, {1, patches / joined, joined * states.dim(2).constant()});
}

Array convolution_order(const Array& rows, int64_t patches) {
  const int64_t count = rows.dim(1).constant(), width = rows.dim(2).constant();
  const Array split = array::reshape(rows, {1, count, patches, width / patches});
  return array::reshape(array::transpose(split, {0, 1, 3, 2}), {1, count, width});
}

nn::PatchTransformerOptions patch_tower(const nn::VisionTransformerOptions& tower) {
  nn::PatchTransformerOptions options;
  options.features = tower.features();
  options.norm = tower.norm;
  options.first_norm = tower.first_norm;
  options.final_norm = tower.final_norm;
  options.positions = tower.positions;
  options.grid = tower.grid;
  options.layers_path = tower.layers_path;
  options.layers = tower.layers;
  return options;
}

void check_rotated(const Config& vision, const nn::PatchTransformerOptions& tower) {
  if (tower.layers.empty()) return;
  const int64_t head_dim = tower.layers.front().attention().head_dim;
  if (head_dim % 4 == 0) return;
  vision.invalid("hidden_size",
                 fmt::format("heads of {} numbers; multiples of 4 are possible", head_dim));
}

}  // namespace pippin::models::vision
