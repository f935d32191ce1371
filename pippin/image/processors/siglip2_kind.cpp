// SigLIP 2 for images of any size (NaFlex): patches in rows, at most a given number of them.
#include <algorithm>
#include <cmath>

#include "pippin/base/error.h"
#include "pippin/image/processors/kinds.h"
#include "pippin/image/processors/patch_rows.h"

namespace pippin::image {
namespace {

class Siglip2Kind : public ImageKind {
 public:
  ImageInputs process(const Picture& picture) const override {
    ImageInputs inputs;
    append_patch_rows(resized(picture, target(size_of(picture)), pixels_), pixels_, patch_,
                      most_patches_, inputs);
    return inputs;
  }

  PixelOptions pixels_;
  int64_t patch_ = 0, most_patches_ = 0;

 private:
  // Both sides by one factor, up to whole patches. The factor is the largest one with few enough
  // patches, as far as halving an interval finds it.
  Size target(Size size) const {
    constexpr double kStep = 1e-5;
    double least = kStep / 10, most = 100;
    while (most - least >= kStep) {
      const double middle = (least + most) / 2;
      const Size scaled = by_factor(size, middle);
      const int64_t patches = (scaled.height / patch_) * (scaled.width / patch_);
      (patches <= most_patches_ ? least : most) = middle;
    }
    return by_factor(size, least);
  }

  Size by_factor(Size size, double factor) const {
    const auto side = [&](int64_t length) {
      const double patches =
          std::ceil(static_cast<double>(length) * factor / static_cast<double>(patch_));
      return std::max<int64_t>(static_cast<int64_t>(patches), 1) * patch_;
    };
    return {side(size.height), side(size.width)};
  }
};

}  // namespace

std::shared_ptr<ImageKind> read_siglip2(ProcessorConfig& config) {
  auto kind = std::make_shared<Siglip2Kind>();
  kind->pixels_ = config.pixels(Filter::Bilinear, kHalf, kHalf);
  kind->patch_ = config.integer("patch_size", 16, 1, 256);
  kind->most_patches_ = config.integer("max_num_patches", 256, 1, 1 << 16);
  return kind;
}

}  // namespace pippin::image
