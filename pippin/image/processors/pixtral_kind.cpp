// Pixtral and Mistral 3: at most the longest edge, in whole patches.
#include <algorithm>
#include <cmath>

#include "pippin/image/processors/kinds.h"
#include "pippin/image/processors/tiles.h"

namespace pippin::image {
namespace {

class PixtralKind : public ImageKind {
 public:
  ImageInputs process(const Picture& picture) const override {
    const Picture sized = resized(picture, target(size_of(picture)), pixels_);
    ImageInputs inputs;
    inputs.pixel_values = stacked({sized}, pixels_);
    inputs.sizes["image_sizes"] = row_of({sized.height, sized.width});
    return inputs;
  }

  PixelOptions pixels_;
  Size most_, patch_;

 private:
  Size target(Size size) const {
    const auto height = static_cast<double>(size.height), width = static_cast<double>(size.width);
    const double ratio = std::max(height / static_cast<double>(most_.height),
                                  width / static_cast<double>(most_.width));
    if (ratio > 1) {
      size = {static_cast<int64_t>(std::floor(height / ratio)),
              static_cast<int64_t>(std::floor(width / ratio))};
    }
    const auto whole = [](int64_t side, int64_t patch) {
      return (std::max<int64_t>(side, 1) + patch - 1) / patch * patch;
    };
    return {whole(size.height, patch_.height), whole(size.width, patch_.width)};
  }
};

}  // namespace

std::shared_ptr<ImageKind> read_pixtral(ProcessorConfig& config) {
  auto kind = std::make_shared<PixtralKind>();
  kind->pixels_ = config.pixels(Filter::Bicubic, kClipMean, kClipStd);
  const SizeRule rule = config.size("size", {.longest = 1024});
  kind->most_ =
      rule.longest != 0 ? Size{rule.longest, rule.longest} : Size{rule.height, rule.width};
  constexpr int64_t kMost = 1 << 13;
  if (kind->most_.height == 0 || std::max(kind->most_.height, kind->most_.width) > kMost) {
    config.invalid("size", fmt::format("expected a longest_edge of at most {}", kMost));
  }
  kind->patch_ = config.fixed_size("patch_size", {16, 16});
  // The model merges blocks of patches, which its processor knows.
  const Json& processor = config.processor();
  if (config.processor_class() == "PixtralProcessor" && processor.has("patch_size")) {
    const int64_t patch = processor.get_int_between("patch_size", 1, 256);
    const auto merge = processor.find("spatial_merge_size");
    const int64_t side = patch * (merge ? merge->as_int(1, 16) : 1);
    kind->patch_ = {side, side};
  }
  config.require_flag("do_center_crop", false);
  return kind;
}

}  // namespace pippin::image
