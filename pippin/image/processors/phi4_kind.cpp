// Phi-4 multimodal: tiles of the picture above and left of white, and their whole as the first one.
#include <algorithm>
#include <cmath>

#include "pippin/image/processors/kinds.h"
#include "pippin/image/processors/tiles.h"

namespace pippin::image {
namespace {

// The pixels around one and their weights: cubic convolution with a = -3/4, without averaging.
struct CubicTaps {
  std::array<int64_t, 4> places;
  std::array<double, 4> weights;
};

std::vector<CubicTaps> cubic_taps(int64_t from, int64_t to) {
  constexpr double kA = -0.75;
  const auto near = [](double x) { return ((kA + 2) * x - (kA + 3)) * x * x + 1; };
  const auto far = [](double x) { return ((kA * x - 5 * kA) * x + 8 * kA) * x - 4 * kA; };
  std::vector<CubicTaps> taps;
  taps.reserve(static_cast<size_t>(to));
  for (int64_t i = 0; i < to; ++i) {
    const double place =
        static_cast<double>(from) / static_cast<double>(to) * (static_cast<double>(i) + 0.5) - 0.5;
    const double base = std::floor(place);
    const double t = place - base;
    CubicTaps tap{{}, {far(t + 1), near(t), near(1 - t), far(2 - t)}};
    for (int64_t k = 0; k < 4; ++k) {
      tap.places[static_cast<size_t>(k)] =
          std::clamp<int64_t>(static_cast<int64_t>(base) - 1 + k, 0, from - 1);
    }
    taps.push_back(tap);
  }
  return taps;
}

// Appends [3, size] from floats of [3, height, width].
void append_cubic(const FloatArray& planes, Size size, std::vector<float>& values) {
  const int64_t height = planes.shape[1], width = planes.shape[2];
  const std::vector<CubicTaps> columns = cubic_taps(width, size.width);
  const std::vector<CubicTaps> rows = cubic_taps(height, size.height);
  for (int64_t channel = 0; channel < 3; ++channel) {
    const float* plane = planes.values.data() + channel * height * width;
    for (const CubicTaps& row : rows) {
      for (const CubicTaps& column : columns) {
        double sum = 0;
        for (size_t y = 0; y < 4; ++y) {
          for (size_t x = 0; x < 4; ++x) {
            sum += row.weights[y] * column.weights[x] *
                   static_cast<double>(plane[row.places[y] * width + column.places[x]]);
          }
        }
        values.push_back(static_cast<float>(sum));
      }
    }
  }
}

class Phi4Kind : public ImageKind {
 public:
  ImageInputs process(const Picture& picture) const override {
    const Grid grid = grid_of(size_of(picture));
    const Size canvas{grid.rows * side_, grid.columns * side_};
    const auto width = static_cast<double>(picture.width);
    const auto height = static_cast<double>(picture.height);
    const double x_scale = static_cast<double>(canvas.width) / width;
    const double y_scale = static_cast<double>(canvas.height) / height;
    const Size inner = x_scale < y_scale
                           ? Size{static_cast<int64_t>(height * x_scale), canvas.width}
                           : Size{canvas.height, static_cast<int64_t>(width * y_scale)};
    constexpr int64_t kLeastSide = 10;
    if (std::min(inner.height, inner.width) < kLeastSide) {
      fail(ErrorCode::InvalidArgument,
           "a picture of {} x {} pixels becomes one of {} x {} (the least side is {})",
           picture.width, picture.height, inner.width, inner.height, kLeastSide);
    }
    const Picture whole = placed(resampled(picture, inner, Filter::Bilinear, pixels_.backend),
                                 canvas, 0, 0, {255, 255, 255});
    const FloatArray tiles = stacked(tiles_of(whole, {side_, side_}), pixels_);
    ImageInputs inputs;
    FloatArray& pixels = inputs.pixel_values;
    pixels.shape = {1, grid.count() + 1, 3, side_, side_};
    pixels.values.reserve(static_cast<size_t>((grid.count() + 1) * 3 * side_ * side_));
    append_cubic(float_pixels(whole, pixels_), {side_, side_}, pixels.values);
    pixels.values.insert(pixels.values.end(), tiles.values.begin(), tiles.values.end());
    inputs.sizes["image_sizes"] = row_of({canvas.height, canvas.width});
    add_mask(grid, (canvas.height - inner.height) / patch_, (canvas.width - inner.width) / patch_,
             inputs);
    return inputs;
  }

  PixelOptions pixels_;
  int64_t side_ = 0, patch_ = 0, most_tiles_ = 0;
  std::vector<Grid> grids_;

 private:
  Grid grid_of(Size size) const {
    const Grid grid{(size.width + side_ - 1) / side_, (size.height + side_ - 1) / side_};
    return grid.columns <= most_tiles_ / grid.rows ? grid
                                                   : closest_grid(size, {side_, side_}, grids_);
  }

  // The patches without the free rows below and the free columns to the right, tile by tile.
  void add_mask(Grid grid, int64_t free_rows, int64_t free_columns, ImageInputs& inputs) const {
    const int64_t patches = side_ / patch_;
    IntArray& mask = inputs.sizes["image_attention_mask"];
    mask.shape = {1, grid.count() + 1, patches, patches};
    mask.values.assign(static_cast<size_t>(patches * patches), 1);
    // Rows of the model: the whole has 16 x 16 and a newline per row, the tiles those of every
    // second patch, a newline per row, and separators.
    int64_t tokens = 256 + 1 + 16;
    for (int64_t tile = 0; tile < grid.count(); ++tile) {
      const int64_t top = tile / grid.columns * patches, left = tile % grid.columns * patches;
      for (int64_t i = 0; i < patches * patches; ++i) {
        const int64_t y = i / patches, x = i % patches;
        const bool used = top + y < grid.rows * patches - free_rows &&
                          left + x < grid.columns * patches - free_columns;
        mask.values.push_back(used ? 1 : 0);
        if (used && y % 2 == 0 && x % 2 == 0) tokens += left + x == 0 ? 2 : 1;
      }
    }
    inputs.sizes["num_img_tokens"] = list_of({tokens});
  }
};

}  // namespace

std::shared_ptr<ImageKind> read_phi4(ProcessorConfig& config) {
  if (config.backend() == Backend::Pil) {
    fail(ErrorCode::Unsupported, "{} exists only for torchvision", config.type());
  }
  auto kind = std::make_shared<Phi4Kind>();
  kind->pixels_ = config.pixels(Filter::Bicubic, kHalf, kHalf);
  if (kind->pixels_.filter != Filter::Bicubic) config.unsupported("resample", "another than 3");
  if (!kind->pixels_.resize) config.unsupported("do_resize", "false");
  const Size size = config.fixed_size("size", {448, 448});
  kind->side_ = size.height;
  kind->patch_ = config.integer("patch_size", 14, 1, 256);
  if (size.height != size.width || size.height % kind->patch_ != 0) {
    config.invalid("size", fmt::format("expected a square of patches of {} pixels", kind->patch_));
  }
  kind->most_tiles_ = config.integer("dynamic_hd", 36, 1, 64);
  kind->grids_ = grids_between(1, kind->most_tiles_);
  return kind;
}

}  // namespace pippin::image
