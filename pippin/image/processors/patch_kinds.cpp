// Processors that cut a picture into patches of a fixed size, with as many patches as the picture
// needs: Qwen2-VL and its relatives.
#include <functional>

#include <fmt/format.h>

#include "pippin/image/processors/kinds.h"
#include "pippin/image/processors/sizes.h"

namespace pippin::image {
namespace {

struct PatchOptions {
  PixelOptions pixels;
  int64_t patch = 14;  // pixels per side
  int64_t merge = 2;   // patches per side of a block that becomes one row
  int64_t frames = 2;  // copies of the picture in each patch
  std::function<Size(Size)> target;
  bool merge_sizes = false;  // whether "image_merge_sizes" is an output (VideoLLaMA 3)
};

// Patches in the order of blocks: all of a block of merge x merge patches, then the next block.
// Each is [channels, frames, patch, patch].
class BlockKind : public ImageKind {
 public:
  explicit BlockKind(PatchOptions options) : options_(std::move(options)) {}

  ImageInputs process(const Picture& picture) const override {
    const Size size = options_.pixels.resize ? options_.target(size_of(picture)) : size_of(picture);
    const FloatArray planes =
        float_pixels(resized(picture, size, options_.pixels), options_.pixels);
    const int64_t patch = options_.patch, merge = options_.merge;
    const int64_t rows = size.height / patch, columns = size.width / patch;
    if (rows % merge != 0 || columns % merge != 0 || rows == 0 || columns == 0) {
      fail(ErrorCode::InvalidArgument,
           "a picture of {} x {} pixels without resizing: expected multiples of {}", size.width,
           size.height, patch * merge);
    }
    ImageInputs inputs;
    inputs.pixel_values.shape = {rows * columns, 3 * options_.frames * patch * patch};
    inputs.pixel_values.values.reserve(
        static_cast<size_t>(rows * columns * 3 * options_.frames * patch * patch));
    for (int64_t block_row = 0; block_row < rows; block_row += merge) {
      for (int64_t block_column = 0; block_column < columns; block_column += merge) {
        for (int64_t i = 0; i < merge * merge; ++i) {
          append_patch(planes, block_row + i / merge, block_column + i % merge,
                       inputs.pixel_values.values);
        }
      }
    }
    inputs.sizes["image_grid_thw"] = row_of({1, rows, columns});
    if (options_.merge_sizes) inputs.sizes["image_merge_sizes"] = list_of({merge});
    return inputs;
  }

 private:
  void append_patch(const FloatArray& planes, int64_t row, int64_t column,
                    std::vector<float>& values) const {
    const int64_t height = planes.shape[1], width = planes.shape[2], patch = options_.patch;
    for (int64_t channel = 0; channel < 3; ++channel) {
      for (int64_t frame = 0; frame < options_.frames; ++frame) {
        for (int64_t y = 0; y < patch; ++y) {
          const auto from =
              planes.values.begin() + (channel * height + row * patch + y) * width + column * patch;
          values.insert(values.end(), from, from + patch);
        }
      }
    }
  }

  PatchOptions options_;
};

// PaddleOCR-VL keeps patches in the order of rows, as [patches, channels, patch, patch].
class RowKind : public ImageKind {
 public:
  explicit RowKind(PatchOptions options) : blocks_(without_merge(std::move(options))) {}

  ImageInputs process(const Picture& picture) const override {
    ImageInputs inputs = blocks_.process(picture);
    const int64_t count = inputs.pixel_values.shape[0];
    inputs.pixel_values.shape = {count, 3 * frames_, patch_, patch_};
    return inputs;
  }

 private:
  PatchOptions without_merge(PatchOptions options) {
    patch_ = options.patch;
    frames_ = options.frames;
    options.merge = 1;
    return options;
  }

  int64_t patch_ = 0, frames_ = 0;
  BlockKind blocks_;
};

struct PatchDefaults {
  int64_t patch, merge, frames, least, most;  // `least` and `most` pixels
};

struct PixelRange {
  int64_t least, most;
};

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

std::function<Size(Size)> smart_target(const PatchOptions& options, PixelRange range) {
  const int64_t factor = options.patch * options.merge;
  return [=](Size size) { return smart_size(size, factor, range.least, range.most); };
}

// Sides below one block are stretched to it first.
Size at_least_one_block(Size size, int64_t factor) {
  const auto step = static_cast<double>(factor);
  const auto height = static_cast<double>(size.height), width = static_cast<double>(size.width);
  if (size.height >= factor && size.width >= factor) return size;
  const double scale = std::max(step / height, step / width);
  return {static_cast<int64_t>(height * scale), static_cast<int64_t>(width * scale)};
}

}  // namespace

std::shared_ptr<ImageKind> read_qwen2_vl(ProcessorConfig& config) {
  PixelRange range{};
  PatchOptions options =
      read_patches(config, kClipMean, kClipStd, {14, 2, 2, 56 * 56, 28 * 28 * 1280}, range);
  options.target = smart_target(options, range);
  return std::make_shared<BlockKind>(std::move(options));
}

std::shared_ptr<ImageKind> read_ernie_vl(ProcessorConfig& config) {
  PixelRange range{};
  PatchOptions options =
      read_patches(config, kClipMean, kClipStd, {14, 2, 1, 56 * 56, 6177 * 28 * 28}, range);
  options.target = smart_target(options, range);
  return std::make_shared<BlockKind>(std::move(options));
}

std::shared_ptr<ImageKind> read_video_llama(ProcessorConfig& config) {
  PixelRange range{};
  PatchOptions options =
      read_patches(config, kHalf, kHalf, {14, 1, 1, 56 * 56, 28 * 28 * 1280}, range);
  options.target = smart_target(options, range);
  options.merge_sizes = true;
  return std::make_shared<BlockKind>(std::move(options));
}

// The limits are for all frames of a patch.
std::shared_ptr<ImageKind> read_glm4v(ProcessorConfig& config) {
  PixelRange range{};
  PatchOptions options =
      read_patches(config, kClipMean, kClipStd, {14, 2, 2, 112 * 112, 28 * 28 * 15000}, range);
  const int64_t factor = options.patch * options.merge, frames = options.frames;
  options.target = [=](Size size) {
    return smart_size(at_least_one_block(size, factor), factor, range.least, range.most, frames);
  };
  return std::make_shared<BlockKind>(std::move(options));
}

std::shared_ptr<ImageKind> read_paddleocr_vl(ProcessorConfig& config) {
  PixelRange range{};
  PatchOptions options =
      read_patches(config, kClipMean, kClipStd, {14, 2, 1, 384 * 384, 1536 * 1536}, range);
  const int64_t factor = options.patch * options.merge;
  options.target = [=](Size size) {
    const auto stretched = [&](int64_t side, int64_t other) {
      return rounded_to_even(static_cast<double>(side * factor) / static_cast<double>(other));
    };
    if (size.height < factor) size = {factor, stretched(size.width, size.height)};
    if (size.width < factor) size = {stretched(size.height, size.width), factor};
    return smart_size(size, factor, range.least, range.most);
  };
  return std::make_shared<RowKind>(std::move(options));
}

}  // namespace pippin::image
