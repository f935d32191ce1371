// Step 3.7: the whole picture, and square windows of large or long ones.
#include <algorithm>

#include "pippin/image/processors/kinds.h"
#include "pippin/image/processors/tiles.h"

namespace pippin::image {
namespace {

class Step3p7Kind : public ImageKind {
 public:
  ImageInputs process(const Picture& picture) const override {
    Size size = size_of(picture);
    const Picture* source = &picture;
    Picture square;
    if (is_thread(size)) {
      const int64_t side = std::max(size.height, size.width);
      square = placed(picture, {side, side}, 0, 0, {});
      source = &square;
      size = {side, side};
    }
    const int64_t longest = std::max(size.height, size.width);
    if (longest > most_) {
      const double scale = static_cast<double>(most_) / static_cast<double>(longest);
      const auto side = [&](int64_t length) {
        return std::max<int64_t>(static_cast<int64_t>(static_cast<double>(length) * scale), 1);
      };
      size = {side(size.height), side(size.width)};
    }
    ImageInputs inputs;
    inputs.pixel_values = stacked({sized(sized(*source, size), {view_, view_})}, pixels_);
    int64_t count = 0;
    if (const int64_t window = window_of(size)) {
      const Size whole{snapped(size.height, window), snapped(size.width, window)};
      const Size tile{std::min(window, whole.height), std::min(window, whole.width)};
      std::vector<Picture> tiles = tiles_of(sized(*source, whole), tile);
      for (Picture& part : tiles) part = sized(part, {tile_, tile_});
      count = static_cast<int64_t>(tiles.size());
      const int64_t columns = whole.width / tile.width;
      IntArray& newlines = inputs.sizes["patch_newline_masks"];
      newlines.shape = {1, count};
      newlines.values.reserve(tiles.size());
      for (int64_t i = 1; i <= count; ++i) {
        newlines.values.push_back(i % columns == 0 && i < count ? 1 : 0);
      }
      inputs.further["pixel_values_local"] = stacked(tiles, pixels_);
    }
    inputs.sizes["num_local_patches"] = list_of({count});
    return inputs;
  }

  PixelOptions pixels_;
  int64_t view_ = 0, tile_ = 0, most_ = 0;

 private:
  static bool is_thread(Size size) {
    return std::min(size.height, size.width) < 32 &&
           std::max(ratio_of(size), 1 / ratio_of(size)) > 4;
  }
  Picture sized(const Picture& picture, Size size) const {
    return resampled(picture, size, pixels_.filter, pixels_.backend);
  }
  // Returns the side of windows, or 0 for a picture without them.
  int64_t window_of(Size size) const {
    const int64_t longest = std::max(size.height, size.width);
    const int64_t shortest = std::min(size.height, size.width);
    const double ratio = static_cast<double>(longest) / static_cast<double>(shortest);
    if (longest <= view_) return ratio > 1.5 ? shortest : 0;
    return ratio > 4 ? std::min(shortest, tile_) : tile_;
  }
  // A remainder above a fifth of a window becomes a whole one.
  static int64_t snapped(int64_t side, int64_t window) {
    if (side < window) return side;
    const bool up = static_cast<double>(side % window) > 0.2 * static_cast<double>(window);
    return window * (side / window + (up ? 1 : 0));
  }
};

}  // namespace

std::shared_ptr<ImageKind> read_step3p7(ProcessorConfig& config) {
  if (config.backend() == Backend::Pil) {
    fail(ErrorCode::Unsupported, "{} exists only for torchvision", config.type());
  }
  auto kind = std::make_shared<Step3p7Kind>();
  kind->pixels_ = config.pixels(Filter::Bilinear, kClipMean, kClipStd);
  kind->view_ = config.fixed_size("size", {728, 728}).height;
  kind->tile_ = config.integer("patch_size", 504, 1, 4096);
  kind->most_ = config.integer("max_image_size", 3024, 1, 1 << 13);
  return kind;
}

}  // namespace pippin::image
