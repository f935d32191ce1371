#include "pippin/image/processors/patch_blocks.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "pippin/base/error.h"

namespace pippin::image {

PatchOptions read_patches(ProcessorConfig& config, const std::array<double, 3>& mean,
                          const std::array<double, 3>& std, const PatchDefaults& defaults,
                          PixelRange& range) {
  PatchOptions options;
  options.pixels = config.pixels(Filter::Bicubic, mean, std);
  options.patch = config.integer("patch_size", defaults.patch, 1, 256);
  options.merge = config.integer("merge_size", defaults.merge, 1, 16);
  options.frames = config.integer("temporal_patch_size", defaults.frames, 1, 16);
  const SizeRule rule = config.size("size", {.shortest = defaults.least, .longest = defaults.most});
  // The old names of the same numbers have precedence.
  constexpr int64_t kMost = INT32_MAX;
  range.least = config.integer("min_pixels", rule.shortest, 1, kMost);
  range.most = config.integer("max_pixels", rule.longest, 1, kMost);
  if (range.least == 0 || range.most == 0 || range.least > range.most) {
    config.invalid("size", fmt::format("from {} to {} pixels", range.least, range.most));
  }
  config.require_flag("do_center_crop", false);
  return options;
}

// Sides below one block are stretched to it first.
Size at_least_one_block(Size size, int64_t factor) {
  const auto step = static_cast<double>(factor);
  const auto height = static_cast<double>(size.height), width = static_cast<double>(size.width);
  if (size.height >= factor && size.width >= factor) return size;
  const double scale = std::max(step / height, step / width);
  return {static_cast<int64_t>(height * scale), static_cast<int64_t>(width * scale)};
}

BlockKind::BlockKind(PatchOptions options) : options_(std::move(options)) {}

ImageInputs BlockKind::process(const Picture& picture) const {
  const Size size = options_.pixels.resize ? options_.target(size_of(picture)) : size_of(picture);
  const Picture* const frame = &picture;
  return process_frames({&frame, 1}, size);
}

ImageInputs BlockKind::process_frames(std::span<const Picture* const> frames, Size size) const {
  const int64_t patch = options_.patch, merge = options_.merge;
  const int64_t rows = size.height / patch, columns = size.width / patch;
  if (rows % merge != 0 || columns % merge != 0 || rows == 0 || columns == 0) {
    fail(ErrorCode::InvalidArgument,
         "a picture of {} x {} pixels without resizing: expected multiples of {}", size.width,
         size.height, patch * merge);
  }
  const auto step = static_cast<size_t>(options_.frames);
  const auto times = static_cast<int64_t>((frames.size() + step - 1) / step);
  ImageInputs inputs;
  inputs.pixel_values.shape = {times * rows * columns, 3 * options_.frames * patch * patch};
  inputs.pixel_values.values.reserve(
      static_cast<size_t>(inputs.pixel_values.shape[0] * inputs.pixel_values.shape[1]));
  for (; !frames.empty(); frames = frames.subspan(std::min(step, frames.size()))) {
    std::vector<FloatArray> planes;
    planes.reserve(step);
    for (const Picture* const frame : frames.first(std::min(step, frames.size()))) {
      planes.push_back(float_pixels(resized(*frame, size, options_.pixels), options_.pixels));
    }
    append_frames(planes, inputs.pixel_values.values);
  }
  inputs.sizes["image_grid_thw"] = row_of({times, rows, columns});
  if (options_.merge_sizes) inputs.sizes["image_merge_sizes"] = list_of({merge});
  return inputs;
}

void BlockKind::append_frames(const std::vector<FloatArray>& frames,
                              std::vector<float>& values) const {
  const int64_t patch = options_.patch, merge = options_.merge;
  const int64_t height = frames[0].shape[1], width = frames[0].shape[2];
  const auto append_patch = [&](int64_t row, int64_t column) {
    for (int64_t channel = 0; channel < 3; ++channel) {
      for (int64_t i = 0; i < options_.frames; ++i) {
        const FloatArray& frame = frames[std::min(static_cast<size_t>(i), frames.size() - 1)];
        for (int64_t y = 0; y < patch; ++y) {
          const auto from =
              frame.values.begin() + (channel * height + row * patch + y) * width + column * patch;
          values.insert(values.end(), from, from + patch);
        }
      }
    }
  };
  for (int64_t block_row = 0; block_row < height / patch; block_row += merge) {
    for (int64_t block_column = 0; block_column < width / patch; block_column += merge) {
      for (int64_t i = 0; i < merge * merge; ++i) {
        append_patch(block_row + i / merge, block_column + i % merge);
      }
    }
  }
}

}  // namespace pippin::image
