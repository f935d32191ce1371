// MiniCPM-V 4.6: the whole picture, and slices of large ones, as rows of patches.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "pippin/image/processors/kinds.h"
#include "pippin/image/processors/tiles.h"

namespace pippin::image {
namespace {

class MiniCpmVKind : public ImageKind {
 public:
  ImageInputs process(const Picture& picture) const override {
    const Size size = size_of(picture);
    const std::optional<Grid> grid = slice_ ? sliced_grid(size) : std::nullopt;
    std::vector<Picture> tiles;
    tiles.push_back(sized(picture, best_size(static_cast<double>(size.height),
                                             static_cast<double>(size.width), !grid)));
    if (grid) {
      // The class takes the numbers of the grid as (columns, rows) first and (y, x) here.
      const int64_t y = grid->columns, x = grid->rows;
      const double height = static_cast<double>(multiple(static_cast<double>(size.height), y));
      const double width = static_cast<double>(multiple(static_cast<double>(size.width), x));
      const Size slice =
          best_size(height / static_cast<double>(y), width / static_cast<double>(x), true);
      for (Picture& tile : tiles_of(sized(picture, {slice.height * y, slice.width * x}), slice)) {
        tiles.push_back(std::move(tile));
      }
    }
    return patched(tiles, grid);
  }

  PixelOptions pixels_;
  int64_t patch_ = 0, resolution_ = 0, most_slices_ = 0;
  bool slice_ = true;

 private:
  static int64_t multiple(double length, int64_t step) {
    return std::max(rounded_to_even(length / static_cast<double>(step)) * step, step);
  }
  Picture sized(const Picture& picture, Size size) const {
    return resampled(picture, size, pixels_.filter, pixels_.backend);
  }

  Size best_size(double height, double width, bool may_grow) const {
    const auto resolution = static_cast<double>(resolution_);
    if (height * width > resolution * resolution || may_grow) {
      const double ratio = width / height;
      height = std::trunc(resolution / std::sqrt(ratio));
      width = std::trunc(height * ratio);
    }
    // Two merges of 2 x 2 patches follow.
    return {multiple(height, patch_ * 4), multiple(width, patch_ * 4)};
  }

  // Returns the grid whose ratio is closest to the picture's, or nothing for a small picture.
  std::optional<Grid> sliced_grid(Size size) const {
    const double log_ratio = std::log(ratio_of(size));
    const double area = static_cast<double>(size.width) * static_cast<double>(size.height);
    const auto resolution = static_cast<double>(resolution_);
    const auto wanted = static_cast<int64_t>(
        std::min(std::ceil(area / (resolution * resolution)), static_cast<double>(most_slices_)));
    if (wanted <= 1) return std::nullopt;
    Grid best{1, 1};
    double least = std::numeric_limits<double>::infinity();
    for (int64_t count = wanted - 1; count <= wanted + 1; ++count) {
      if (count == 1 || count > most_slices_) continue;
      for (int64_t rows = 1; rows <= count; ++rows) {
        if (count % rows != 0) continue;
        const int64_t columns = count / rows;
        const double error = std::abs(
            log_ratio - std::log(static_cast<double>(rows) / static_cast<double>(columns)));
        if (error < least) {
          least = error;
          best = {columns, rows};
        }
      }
    }
    return best;
  }

  // Patches next to each other: [1, 3, patch, patches * patch].
  ImageInputs patched(const std::vector<Picture>& tiles, std::optional<Grid> grid) const {
    ImageInputs inputs;
    IntArray& targets = inputs.sizes["target_sizes"];
    std::vector<FloatArray> planes;
    planes.reserve(tiles.size());
    int64_t patches = 0;
    for (const Picture& tile : tiles) {
      planes.push_back(float_pixels(tile, pixels_));
      targets.values.push_back(tile.height / patch_);
      targets.values.push_back(tile.width / patch_);
      patches += (tile.height / patch_) * (tile.width / patch_);
    }
    const auto count = static_cast<int64_t>(tiles.size());
    targets.shape = {count, 2};
    inputs.sizes["grids"] = grid ? row_of({grid->columns, grid->rows}) : row_of({0, 0});
    inputs.sizes["num_patches_per_image"] = row_of({count});
    FloatArray& pixels = inputs.pixel_values;
    pixels.shape = {1, 3, patch_, patches * patch_};
    pixels.values.reserve(static_cast<size_t>(3 * patch_ * patches * patch_));
    for (int64_t channel = 0; channel < 3; ++channel) {
      for (int64_t y = 0; y < patch_; ++y) {
        for (const FloatArray& plane : planes) {
          const int64_t height = plane.shape[1], width = plane.shape[2];
          for (int64_t row = 0; row < height / patch_; ++row) {
            const auto from = plane.values.begin() + (channel * height + row * patch_ + y) * width;
            pixels.values.insert(pixels.values.end(), from, from + width);
          }
        }
      }
    }
    return inputs;
  }
};

}  // namespace

std::shared_ptr<ImageKind> read_minicpm_v(ProcessorConfig& config) {
  auto kind = std::make_shared<MiniCpmVKind>();
  kind->pixels_ = config.pixels(Filter::Bicubic, kHalf, kHalf);
  if (!kind->pixels_.resize) config.unsupported("do_resize", "false");
  kind->patch_ = config.integer("patch_size", 14, 1, 256);
  kind->resolution_ = config.integer("scale_resolution", 448, 1, 4096);
  kind->most_slices_ = config.integer("max_slice_nums", 9, 1, 64);
  kind->slice_ = config.flag("slice_mode", true);
  return kind;
}

}  // namespace pippin::image
