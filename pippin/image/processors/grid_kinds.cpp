// Processors that resize a picture to a grid of square tiles of its ratio: InternVL and Aya Vision
// (GOT-OCR 2's), Cohere's, Ovis 2's, DeepSeek-OCR 2's.
#include <algorithm>
#include <functional>
#include <limits>

#include "pippin/image/processors/kinds.h"
#include "pippin/image/processors/tiles.h"

namespace pippin::image {
namespace {

constexpr int64_t kMostTiles = 64;

// Each picture that becomes several tiles also becomes one, which is last.
class GridKind : public ImageKind {
 public:
  ImageInputs process(const Picture& picture) const override {
    std::vector<Picture> tiles;
    if (choose_) {
      tiles = grid_tiles(picture, choose_(size_of(picture)), tile_, pixels_);
    }
    if (tiles.size() != 1)
      tiles.push_back(choose_ ? whole(picture) : resized(picture, tile_, pixels_));
    ImageInputs inputs;
    inputs.sizes["num_patches"] = list_of({static_cast<int64_t>(tiles.size())});
    inputs.pixel_values = stacked(tiles, pixels_);
    return inputs;
  }

  PixelOptions pixels_;
  Size tile_;
  std::function<Grid(Size)> choose_;  // none: one tile

 private:
  Picture whole(const Picture& picture) const {
    return resampled(picture, tile_, pixels_.filter, pixels_.backend);
  }
};

struct TileLimits {
  int64_t least = 1, most = 12;
};

TileLimits read_limits(ProcessorConfig& config, TileLimits fallback) {
  TileLimits limits;
  limits.least = config.integer("min_patches", fallback.least, 1, kMostTiles);
  limits.most = config.integer("max_patches", fallback.most, 1, kMostTiles);
  return limits;
}

// The grid that enlarges the picture least, or shrinks it least if it is larger than all.
Grid least_scaled_grid(Size size, Size tile, const std::vector<Grid>& grids) {
  Grid smallest{1, 1}, largest{1, 1};
  double least = std::numeric_limits<double>::infinity(), most = 0;
  for (const Grid& grid : grids) {
    const double scale =
        std::min(static_cast<double>(grid.columns * tile.height) / static_cast<double>(size.width),
                 static_cast<double>(grid.rows * tile.height) / static_cast<double>(size.height));
    if (scale > most) {
      most = scale;
      largest = grid;
    }
    if (scale >= 1 && scale < least) {
      least = scale;
      smallest = grid;
    }
  }
  return most < 1 ? largest : smallest;
}

std::shared_ptr<GridKind> read_grid(ProcessorConfig& config, Size tile) {
  auto kind = std::make_shared<GridKind>();
  kind->pixels_ = config.pixels(Filter::Bicubic, kClipMean, kClipStd);
  kind->tile_ = config.fixed_size("size", tile);
  config.require_flag("do_center_crop", false);
  return kind;
}

}  // namespace

std::shared_ptr<ImageKind> read_got_ocr2(ProcessorConfig& config) {
  auto kind = read_grid(config, {384, 384});
  const TileLimits limits = read_limits(config, {1, 12});
  // The processors of these models split pictures whatever the file says.
  const std::string processor = config.processor_class();
  const bool always = processor == "InternVLProcessor" || processor == "AyaVisionProcessor";
  if ((config.flag("crop_to_patches", false) || always) && limits.most > 1) {
    kind->choose_ = [tile = kind->tile_, grids = grids_between(limits.least, limits.most)](
                        Size size) { return closest_grid(size, tile, grids); };
  }
  return kind;
}

std::shared_ptr<ImageKind> read_cohere2_vision(ProcessorConfig& config) {
  if (config.backend() == Backend::Pil) {
    fail(ErrorCode::Unsupported, "{} exists only for torchvision", config.type());
  }
  auto kind = read_grid(config, {512, 512});
  const TileLimits limits = read_limits(config, {1, 12});
  if (config.flag("crop_to_patches", true)) {
    kind->choose_ = [tile = kind->tile_, grids = grids_between(1, limits.most)](Size size) {
      return least_scaled_grid(size, tile, grids);
    };
  }
  return kind;
}

namespace {

// Ovis 2 chooses the fewest tiles which, each shrunk to the tile's size, keep 90 % of the area.
class OvisGrids {
 public:
  OvisGrids(int64_t tile, int64_t most) : tile_(tile), grids_(grids_between(1, most)) {}

  // The class reads the first number of a grid as rows here, and as columns afterwards.
  Grid operator()(Size size) const {
    constexpr double kEnough = 0.9;
    Grid best{1, 1}, fewest;
    double best_share = 0, fewest_share = 0;
    for (const Grid& grid : grids_) {
      const double share = covered_share(size, grid);
      if (share > best_share) {
        best = grid;
        best_share = share;
      }
      if (share <= kEnough) continue;
      if (fewest.count() == 0 || grid.count() < fewest.count() ||
          (grid.count() == fewest.count() && share > fewest_share)) {
        fewest = grid;
        fewest_share = share;
      }
    }
    return fewest.count() != 0 ? fewest : best;
  }

 private:
  double covered_share(Size size, const Grid& grid) const {
    const int64_t rows = grid.columns, columns = grid.rows;
    const int64_t height = size.height / rows, width = size.width / columns;
    double covered = 0;
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t column = 0; column < columns; ++column) {
        covered += kept_area(row == rows - 1 ? size.height - row * height : height,
                             column == columns - 1 ? size.width - column * width : width);
      }
    }
    return covered / static_cast<double>(size.height * size.width);
  }
  double kept_area(int64_t height, int64_t width) const {
    auto longest = static_cast<double>(std::max(height, width));
    auto shortest = static_cast<double>(std::min(height, width));
    const auto side = static_cast<double>(tile_);
    if (longest > side) {
      shortest = shortest / longest * side;
      longest = side;
    }
    return longest * shortest;
  }

  int64_t tile_;
  std::vector<Grid> grids_;
};

// Unlike GridKind, the whole picture is the first tile.
class OvisKind : public ImageKind {
 public:
  ImageInputs process(const Picture& picture) const override {
    Grid grid{1, 1};
    std::vector<Picture> tiles;
    if (choose_) {
      grid = choose_(size_of(picture));
      tiles = grid_tiles(picture, grid, tile_, pixels_);
    }
    if (tiles.size() != 1) tiles.insert(tiles.begin(), resized(picture, tile_, pixels_));
    ImageInputs inputs;
    inputs.pixel_values = stacked(tiles, pixels_);
    inputs.sizes["grids"] = row_of({grid.rows, grid.columns});
    return inputs;
  }

  PixelOptions pixels_;
  Size tile_;
  std::function<Grid(Size)> choose_;
};

}  // namespace

std::shared_ptr<ImageKind> read_ovis2(ProcessorConfig& config) {
  auto kind = std::make_shared<OvisKind>();
  kind->pixels_ = config.pixels(Filter::Bicubic, kClipMean, kClipStd);
  kind->tile_ = config.fixed_size("size", {384, 384});
  const TileLimits limits = read_limits(config, {1, 12});
  const bool by_area = config.flag("use_covering_area_grid", true);
  if (!config.flag("crop_to_patches", false) || limits.most == 1) return kind;
  if (by_area) {
    kind->choose_ = OvisGrids(kind->tile_.height, limits.most);
  } else {
    kind->choose_ = [tile = kind->tile_, grids = grids_between(limits.least, limits.most)](
                        Size size) { return closest_grid(size, tile, grids); };
  }
  return kind;
}

namespace {

// A view of the whole picture between bars, and tiles of their own size for large pictures.
class DeepseekOcrKind : public ImageKind {
 public:
  ImageInputs process(const Picture& picture) const override {
    ImageInputs inputs;
    const int64_t longest = std::max(picture.height, picture.width);
    int64_t num_tiles = 0;
    if (crop_ && longest > tile_) {
      const Size tile{tile_, tile_};
      const Grid grid = closest_grid(size_of(picture), tile, grids_);
      inputs.further["pixel_values_local"] =
          stacked(grid_tiles(picture, grid, tile, pixels_), pixels_);
      num_tiles = grid.count();
    }
    inputs.sizes["num_local_patches"] = list_of({num_tiles});
    const double scale = static_cast<double>(crop_ ? view_ : tile_) / static_cast<double>(longest);
    const auto side = [&](int64_t length) {
      return std::max<int64_t>(rounded_to_even(static_cast<double>(length) * scale), 1);
    };
    const Picture view = resampled(picture, {side(picture.height), side(picture.width)},
                                   pixels_.filter, pixels_.backend);
    const int64_t square = std::max(view.height, view.width);
    inputs.pixel_values = stacked({placed(view, {square, square}, (square - view.height) / 2,
                                          (square - view.width) / 2, background_)},
                                  pixels_);
    return inputs;
  }

  PixelOptions pixels_;
  int64_t view_ = 0, tile_ = 0;
  bool crop_ = true;
  Color background_{};
  std::vector<Grid> grids_;
};

}  // namespace

std::shared_ptr<ImageKind> read_deepseek_ocr(ProcessorConfig& config) {
  auto kind = std::make_shared<DeepseekOcrKind>();
  kind->pixels_ = config.pixels(Filter::Bicubic, kHalf, kHalf);
  kind->view_ = config.fixed_size("size", {1024, 1024}).height;
  kind->tile_ = config.integer("tile_size", 768, 1, 1 << 14);
  kind->crop_ = config.flag("crop_to_patches", true);
  const TileLimits limits = read_limits(config, {2, 6});
  kind->grids_ = grids_between(limits.least, limits.most);
  config.ignore("background_color");
  const auto color = config.json().find("background_color");
  const std::vector<int64_t> levels =
      color ? color->as_ints() : std::vector<int64_t>{127, 127, 127};
  if (levels.size() != 3) config.invalid("background_color", "expected 3 levels");
  for (size_t i = 0; i < 3; ++i) {
    if (levels[i] < 0 || levels[i] > 255)
      config.invalid("background_color", "a level is not 0 to 255");
    kind->background_[i] = static_cast<uint8_t>(levels[i]);
  }
  return kind;
}

}  // namespace pippin::image
