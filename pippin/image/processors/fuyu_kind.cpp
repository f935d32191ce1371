// Fuyu: large pictures shrunk to a canvas, above and left of padding.
#include <algorithm>

#include "pippin/image/processors/kinds.h"
#include "pippin/image/processors/tiles.h"

namespace pippin::image {
namespace {

class FuyuKind : public ImageKind {
 public:
  ImageInputs process(const Picture& picture) const override {
    Picture sized = picture;
    if (picture.height > canvas_.height || picture.width > canvas_.width) {
      const double scale =
          std::min(static_cast<double>(canvas_.height) / static_cast<double>(picture.height),
                   static_cast<double>(canvas_.width) / static_cast<double>(picture.width));
      const auto side = [&](int64_t length) {
        return std::max<int64_t>(static_cast<int64_t>(static_cast<double>(length) * scale), 1);
      };
      sized = resized(picture, {side(picture.height), side(picture.width)}, pixels_);
    }
    if (sized.height > canvas_.height || sized.width > canvas_.width) {
      fail(ErrorCode::InvalidArgument, "a picture of {} x {} pixels is larger than {} x {}",
           sized.width, sized.height, canvas_.width, canvas_.height);
    }
    ImageInputs inputs;
    inputs.pixel_values =
        stacked({placed(sized, canvas_, 0, 0, {level_, level_, level_})}, pixels_, {1});
    inputs.sizes["image_unpadded_heights"] = row_of({sized.height});
    inputs.sizes["image_unpadded_widths"] = row_of({sized.width});
    inputs.sizes["image_sizes"] = row_of({sized.height, sized.width});
    inputs.further["image_scale_factors"] = {
        {1, 1},
        {static_cast<float>(static_cast<double>(sized.height) /
                            static_cast<double>(picture.height))}};
    return inputs;
  }

  PixelOptions pixels_;
  Size canvas_;
  uint8_t level_ = 1;
};

}  // namespace

std::shared_ptr<ImageKind> read_fuyu(ProcessorConfig& config) {
  auto kind = std::make_shared<FuyuKind>();
  kind->pixels_ = config.pixels(Filter::Bilinear, kHalf, kHalf);
  kind->canvas_ = config.fixed_size("size", {1080, 1920});
  config.require_flag("do_pad", true);
  const std::string mode = config.text("padding_mode", "constant");
  if (mode != "constant") config.unsupported("padding_mode", fmt::format("'{}'", mode));
  kind->level_ = static_cast<uint8_t>(config.number("padding_value", 1, 0, 255));
  return kind;
}

}  // namespace pippin::image
