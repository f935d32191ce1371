// LFM2-VL: patches of 8-bit pixels in rows, from tiles and a thumbnail for large pictures.
#include <algorithm>
#include <cmath>

#include "pippin/image/processors/kinds.h"
#include "pippin/image/processors/patch_rows.h"
#include "pippin/image/processors/tiles.h"

namespace pippin::image {
namespace {

class Lfm2VlKind : public ImageKind {
 public:
  ImageInputs process(const Picture& picture) const override {
    const Size size = size_of(picture);
    const Size whole_size = target(size);
    std::vector<Picture> tiles;
    Grid grid{1, 1};
    if (split_ && max_tiles_ > 1 && is_large(size)) {
      const Size tile{tile_, tile_};
      grid = closest_grid(size, tile, grids_);
      tiles = grid_tiles(picture, grid, tile, pixels_);
    }
    if (tiles.empty() || (use_thumbnail_ && grid.count() != 1)) {
      tiles.push_back(resampled(picture, whole_size, pixels_.filter, pixels_.backend));
    }
    ImageInputs inputs;
    for (const Picture& tile : tiles) {
      append_patch_rows(tile, pixels_, patch_, most_patches(), inputs);
    }
    // The class swaps the two numbers of a grid.
    inputs.sizes["image_rows"] = list_of({grid.columns});
    inputs.sizes["image_cols"] = list_of({grid.rows});
    inputs.sizes["image_sizes"] = row_of({whole_size.height, whole_size.width});
    return inputs;
  }

  PixelOptions pixels_;
  int64_t patch_ = 0, downsample_ = 0, least_rows_ = 0, most_rows_ = 0;
  int64_t tile_ = 0, max_tiles_ = 0;
  double tolerance_ = 0;
  bool split_ = false, use_thumbnail_ = false;
  std::vector<Grid> grids_;

  int64_t most_patches() const {
    const int64_t of_tile = split_ ? (tile_ / patch_) * (tile_ / patch_) : 0;
    return std::max(most_rows_ * downsample_ * downsample_, of_tile);
  }

 private:
  int64_t step() const { return patch_ * downsample_; }
  int64_t rounded_side(int64_t side, int64_t least) const {
    const double steps = static_cast<double>(side) / static_cast<double>(step());
    return std::max(least, rounded_to_even(steps) * step());
  }

  bool is_large(Size size) const {
    const int64_t area = rounded_side(size.height, patch_) * rounded_side(size.width, patch_);
    return static_cast<double>(area) >
           static_cast<double>(most_rows_ * step() * step()) * tolerance_;
  }

  Size target(Size size) const {
    const Size rounded{rounded_side(size.height, step()), rounded_side(size.width, step())};
    const int64_t area = rounded.height * rounded.width;
    const auto height = static_cast<double>(size.height), width = static_cast<double>(size.width);
    const auto unit = static_cast<double>(step());
    const int64_t least = least_rows_ * step() * step(), most = most_rows_ * step() * step();
    if (area > most) {
      const double shrink = std::sqrt(height * width / static_cast<double>(most));
      const auto side = [&](double length) {
        return std::max(step(), static_cast<int64_t>(std::floor(length / shrink / unit)) * step());
      };
      return {side(height), side(width)};
    }
    if (area < least) {
      const double stretch = std::sqrt(static_cast<double>(least) / (height * width));
      const auto side = [&](double length) {
        return static_cast<int64_t>(std::ceil(length * stretch / unit)) * step();
      };
      return {side(height), side(width)};
    }
    return rounded;
  }
};

}  // namespace

std::shared_ptr<ImageKind> read_lfm2_vl(ProcessorConfig& config) {
  if (config.backend() == Backend::Pil) {
    fail(ErrorCode::Unsupported, "{} exists only for torchvision", config.type());
  }
  auto kind = std::make_shared<Lfm2VlKind>();
  kind->pixels_ = config.pixels(Filter::Bilinear, kHalf, kHalf);
  kind->patch_ = config.integer("encoder_patch_size", 16, 1, 256);
  kind->downsample_ = config.integer("downsample_factor", 2, 1, 16);
  kind->most_rows_ = config.integer("max_image_tokens", 256, 1, 1 << 14);
  kind->least_rows_ = config.integer("min_image_tokens", 64, 1, kind->most_rows_);
  kind->tile_ = config.integer("tile_size", 512, 1, 4096);
  kind->max_tiles_ = config.integer("max_tiles", 10, 1, 64);
  const int64_t least = config.integer("min_tiles", 2, 1, kind->max_tiles_);
  kind->grids_ = grids_between(least, kind->max_tiles_);
  kind->tolerance_ = config.number("max_pixels_tolerance", 2, 0, 1e6);
  kind->split_ = config.flag("do_image_splitting", true);
  kind->use_thumbnail_ = config.flag("use_thumbnail", true);
  config.require_flag("do_pad", true);
  if (kind->split_ && kind->tile_ % kind->patch_ != 0) {
    config.invalid("tile_size", fmt::format("{} is not a multiple of encoder_patch_size {}",
                                            kind->tile_, kind->patch_));
  }
  return kind;
}

}  // namespace pippin::image
