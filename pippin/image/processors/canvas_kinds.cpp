// Llama 3.2 Vision and Llama 4: the upper left of a canvas of tiles.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "pippin/image/processors/kinds.h"
#include "pippin/image/processors/tiles.h"

namespace pippin::image {
namespace {

// The canvas that needs the least enlargement, or the least shrinking without one that is large
// enough; of equal ones, the smallest. `largest` prefers the most enlargement.
Grid best_canvas(Size size, int64_t tile, const std::vector<Grid>& grids, bool largest) {
  // float, as torch.int64 / int.
  const auto scale_of = [&](const Grid& grid) {
    return std::min(static_cast<float>(grid.columns * tile) / static_cast<float>(size.width),
                    static_cast<float>(grid.rows * tile) / static_cast<float>(size.height));
  };
  float best = 0;
  for (const Grid& grid : grids) {
    const float scale = scale_of(grid);
    const bool grows = scale >= 1, best_grows = best >= 1;
    const bool better = grows == best_grows && grows && !largest ? scale < best : scale > best;
    if (best == 0 || (grows && !best_grows) || (grows == best_grows && better)) best = scale;
  }
  Grid chosen;
  for (const Grid& grid : grids) {
    if (scale_of(grid) != best) continue;
    if (chosen.count() == 0 || grid.count() < chosen.count()) chosen = grid;
  }
  return chosen;
}

Size canvas_size(Grid grid, int64_t tile) {
  return {grid.rows * tile, grid.columns * tile};
}

class MllamaKind : public ImageKind {
 public:
  ImageInputs process(const Picture& picture) const override {
    const Grid grid = best_canvas(size_of(picture), tile_, grids_, false);
    const Size canvas = canvas_size(grid, tile_);
    const Size space{std::clamp(picture.height, tile_, canvas.height),
                     std::clamp(picture.width, tile_, canvas.width)};
    const Picture sized = resampled(picture, size_within(size_of(picture), space, false),
                                    pixels_.filter, pixels_.backend);
    ImageInputs inputs;
    inputs.pixel_values =
        stacked(tiles_of(placed(sized, canvas, 0, 0, {}), {tile_, tile_}), pixels_);
    inputs.pixel_values.shape = {1, 1, most_tiles_, 3, tile_, tile_};
    inputs.pixel_values.values.resize(static_cast<size_t>(most_tiles_ * 3 * tile_ * tile_));
    int64_t id = 0;
    for (size_t i = 0; i < grids_.size(); ++i) {
      if (grids_[i].rows == grid.rows && grids_[i].columns == grid.columns) {
        id = static_cast<int64_t>(i) + 1;
      }
    }
    inputs.sizes["aspect_ratio_ids"] = row_of({id});
    IntArray& mask = inputs.sizes["aspect_ratio_mask"];
    mask.shape = {1, 1, most_tiles_};
    mask.values.assign(static_cast<size_t>(grid.count()), 1);
    mask.values.resize(static_cast<size_t>(most_tiles_), 0);
    inputs.sizes["num_tiles"] = row_of({grid.count()});
    return inputs;
  }
  bool is_over_white() const override { return true; }

  PixelOptions pixels_;
  int64_t tile_ = 0, most_tiles_ = 0;
  std::vector<Grid> grids_;  // by rows, then columns: the index gives the id
};

// Rounds to bfloat16, halves to even.
float rounded_to_bf16(float value) {
  auto bits = std::bit_cast<uint32_t>(value);
  bits += 0x7fff + (bits >> 16 & 1);
  return std::bit_cast<float>(bits & 0xffff0000);
}

class Llama4Kind : public ImageKind {
 public:
  ImageInputs process(const Picture& picture) const override {
    const Grid grid = best_canvas(size_of(picture), tile_, grids_, to_largest_);
    const Size canvas = canvas_size(grid, tile_);
    Size space = canvas;
    if (!to_largest_) {
      space = {std::min(std::max(picture.height, tile_), canvas.height),
               std::min(std::max(picture.width, tile_), canvas.width)};
    }
    const Picture sized = resampled(picture, size_within(size_of(picture), space, false),
                                    pixels_.filter, pixels_.backend);
    const Size tile{tile_, tile_};
    std::vector<Picture> tiles = tiles_of(placed(sized, canvas, 0, 0, {}), tile);
    if (tiles.size() > 1) {
      tiles.push_back(resampled(picture, tile, pixels_.filter, pixels_.backend));
    }
    ImageInputs inputs;
    inputs.pixel_values = stacked(tiles, pixels_);
    if (pixels_.rescale && pixels_.normalize) round_values(tiles, inputs.pixel_values);
    inputs.sizes["aspect_ratios"] = row_of({grid.rows, grid.columns});
    return inputs;
  }

  PixelOptions pixels_;
  int64_t tile_ = 0;
  bool to_largest_ = false;
  std::vector<Grid> grids_;

 private:
  // The class computes in bfloat16.
  void round_values(const std::vector<Picture>& tiles, FloatArray& pixels) const {
    pixels.values.clear();
    for (const Picture& tile : tiles) {
      for (size_t channel = 0; channel < 3; ++channel) {
        const auto mean = rounded_to_bf16(static_cast<float>(pixels_.mean[channel]));
        const auto std = rounded_to_bf16(static_cast<float>(pixels_.std[channel]));
        for (size_t i = channel; i < tile.pixels.size(); i += 3) {
          const float rescaled = rounded_to_bf16(static_cast<float>(tile.pixels[i]) *
                                                 static_cast<float>(pixels_.factor));
          pixels.values.push_back(rounded_to_bf16(rounded_to_bf16(rescaled - mean) / std));
        }
      }
    }
  }
};

std::vector<Grid> grids_by_rows(int64_t most) {
  std::vector<Grid> grids;
  for (int64_t rows = 1; rows <= most; ++rows) {
    for (int64_t columns = 1; columns <= most / rows; ++columns) grids.push_back({columns, rows});
  }
  return grids;
}

int64_t square_side(ProcessorConfig& config, int64_t fallback) {
  const Size size = config.fixed_size("size", {fallback, fallback});
  if (size.height != size.width) config.invalid("size", "expected a square");
  return size.height;
}

}  // namespace

std::shared_ptr<ImageKind> read_mllama(ProcessorConfig& config) {
  auto kind = std::make_shared<MllamaKind>();
  kind->pixels_ = config.pixels(Filter::Bilinear, kHalf, kHalf);
  if (!kind->pixels_.resize) config.unsupported("do_resize", "false");
  kind->tile_ = square_side(config, 224);
  kind->most_tiles_ = config.integer("max_image_tiles", 4, 1, 64);
  kind->grids_ = grids_by_rows(kind->most_tiles_);
  config.require_flag("do_pad", true);
  return kind;
}

std::shared_ptr<ImageKind> read_llama4(ProcessorConfig& config) {
  if (config.backend() == Backend::Pil) {
    fail(ErrorCode::Unsupported, "{} exists only for torchvision", config.type());
  }
  auto kind = std::make_shared<Llama4Kind>();
  kind->pixels_ = config.pixels(Filter::Bilinear, kHalf, kHalf);
  if (!kind->pixels_.resize) config.unsupported("do_resize", "false");
  kind->tile_ = square_side(config, 336);
  kind->grids_ = grids_by_rows(config.integer("max_patches", 16, 1, 64));
  kind->to_largest_ = config.flag("resize_to_max_canvas", false);
  return kind;
}

namespace {

// Perception LM: stretched to the grid on which the shorter side becomes longest.
class PerceptionKind : public ImageKind {
 public:
  ImageInputs process(const Picture& picture) const override {
    const Size tile{tile_, tile_};
    std::vector<Picture> tiles;
    if (tiled_) {
      const Grid grid = most_tiles_ > 1 ? fitting_grid(size_of(picture)) : Grid{1, 1};
      tiles = grid_tiles(picture, grid, tile, pixels_);
    }
    tiles.insert(tiles.begin(), resampled(picture, tile, pixels_.filter, pixels_.backend));
    ImageInputs inputs;
    inputs.pixel_values = stacked(tiles, pixels_, {1});
    return inputs;
  }

  PixelOptions pixels_;
  int64_t tile_ = 0, most_tiles_ = 0;
  bool tiled_ = true;
  std::vector<Grid> grids_;  // those of one ratio next to each other

 private:
  static double ratio(const Grid& grid) {
    return static_cast<double>(grid.columns) / static_cast<double>(grid.rows);
  }

  double shorter_side(Size size, const Grid& grid) const {
    const double picture_ratio = ratio_of(size);
    const auto width = static_cast<double>(size.width), height = static_cast<double>(size.height);
    const double scale = std::min(static_cast<double>(grid.columns * tile_) / width,
                                  static_cast<double>(grid.rows * tile_) / height);
    if (picture_ratio > 1) return std::floor(scale * width / picture_ratio);
    // At a ratio of 1 the height counts.
    return picture_ratio < 1 ? std::floor(scale * height * picture_ratio) : scale * height;
  }

  Grid fitting_grid(Size size) const {
    Grid best;
    double longest = 0;
    for (const Grid& grid : grids_) {
      if (grid.columns * tile_ < size.width || grid.rows * tile_ < size.height) continue;
      const double side = shorter_side(size, grid);
      if (best.count() != 0 && side < longest) continue;
      best = grid;
      longest = side;
    }
    return best.count() != 0 ? best : closest_ratio(ratio_of(size));
  }

  // The next ratio towards 1, with the most tiles.
  Grid closest_ratio(double wanted) const {
    Grid best{1, 1};
    double least = std::numeric_limits<double>::infinity();
    for (const Grid& grid : grids_) {
      const bool across = wanted >= 1;
      if (across ? ratio(grid) > wanted : ratio(grid) <= wanted) continue;
      const double difference =
          across ? std::abs(ratio(grid) - wanted) : std::abs(1 / ratio(grid) - 1 / wanted);
      if (difference < least || (difference == least && grid.count() > best.count())) best = grid;
      least = std::min(least, difference);
    }
    return best;
  }
};

// All grids of at most `most` tiles, the largest first; grids of one ratio follow its first.
std::vector<Grid> grids_by_ratio(int64_t most) {
  std::vector<std::vector<Grid>> groups;
  for (int64_t count = most; count > 0; --count) {
    for (int64_t columns = 1; columns <= count; ++columns) {
      if (count % columns != 0) continue;
      const Grid grid{columns, count / columns};
      const auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& other) {
        return other[0].columns * grid.rows == grid.columns * other[0].rows;
      });
      if (group != groups.end()) {
        group->push_back(grid);
      } else {
        groups.push_back({grid});
      }
    }
  }
  std::vector<Grid> grids;
  for (const std::vector<Grid>& group : groups) {
    grids.insert(grids.end(), group.begin(), group.end());
  }
  return grids;
}

}  // namespace

std::shared_ptr<ImageKind> read_perception_lm(ProcessorConfig& config) {
  if (config.backend() == Backend::Pil) {
    fail(ErrorCode::Unsupported, "{} exists only for torchvision", config.type());
  }
  auto kind = std::make_shared<PerceptionKind>();
  kind->pixels_ = config.pixels(Filter::Bicubic, kHalf, kHalf);
  if (!kind->pixels_.resize) config.unsupported("do_resize", "false");
  kind->tile_ = config.integer("tile_size", 448, 1, 4096);
  kind->most_tiles_ = config.integer("max_num_tiles", 36, 1, 64);
  const std::string type = config.text("vision_input_type", "thumb+tile");
  kind->tiled_ = type == "thumb+tile";
  kind->grids_ = grids_by_ratio(kind->most_tiles_);
  return kind;
}

}  // namespace pippin::image
