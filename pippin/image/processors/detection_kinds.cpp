// DETR, Mask2Former and SAM: normalized pixels, padded with zeros.
#include <algorithm>
#include <cmath>

#include "pippin/image/processors/kinds.h"
#include "pippin/image/processors/sizes.h"

namespace pippin::image {
namespace {

class DetectionKind : public ImageKind {
 public:
  ImageInputs process(const Picture& picture) const override {
    Size target = target_size(size_of(picture), rule_);
    const auto multiple = [&](int64_t side) { return (side + step_ - 1) / step_ * step_; };
    target = {multiple(target.height), multiple(target.width)};
    const Picture sized = resized(picture, target, pixels_);
    ImageInputs inputs;
    inputs.pixel_values = float_pixels(sized, pixels_);
    inputs.pixel_values.shape.insert(inputs.pixel_values.shape.begin(), 1);
    inputs.sizes["pixel_mask"] = mask_of(size_of(sized), size_of(sized));
    return inputs;
  }

  PixelOptions pixels_;
  SizeRule rule_;
  int64_t step_ = 1;
};

std::shared_ptr<DetectionKind> read_detection(ProcessorConfig& config) {
  auto kind = std::make_shared<DetectionKind>();
  kind->pixels_ = config.pixels(Filter::Bilinear, kImageNetMean, kImageNetStd);
  kind->rule_ = config.size("size", {.shortest = 800, .longest = 1333}, false);
  constexpr int64_t kMost = 1 << 13;
  const SizeRule& rule = kind->rule_;
  if (std::max({rule.shortest, rule.longest, rule.height, rule.width}) > kMost ||
      (rule.shortest != 0 && rule.longest == 0)) {
    config.invalid("size", fmt::format("expected a longest_edge of at most {}", kMost));
  }
  // Of a batch of one picture.
  config.flag("do_pad", true);
  config.ignore("do_convert_annotations");
  if (config.json().has("pad_size")) config.unsupported("pad_size", "a fixed size");
  config.require_flag("do_reduce_labels", false);
  return kind;
}

class SamKind : public ImageKind {
 public:
  ImageInputs process(const Picture& picture) const override {
    const double scale = static_cast<double>(longest_) /
                         static_cast<double>(std::max(picture.height, picture.width));
    const auto side = [&](int64_t length) {
      return std::max<int64_t>(
          static_cast<int64_t>(std::floor(static_cast<double>(length) * scale + 0.5)), 1);
    };
    const Picture sized = resized(picture, {side(picture.height), side(picture.width)}, pixels_);
    if (sized.height > padded_.height || sized.width > padded_.width) {
      fail(ErrorCode::InvalidArgument,
           "a picture of {} x {} pixels is larger than pad_size {} x {}", sized.width, sized.height,
           padded_.width, padded_.height);
    }
    ImageInputs inputs;
    inputs.pixel_values = zero_padded(float_pixels(sized, pixels_), padded_);
    inputs.pixel_values.shape.insert(inputs.pixel_values.shape.begin(), 1);
    inputs.sizes["original_sizes"] = row_of({picture.height, picture.width});
    inputs.sizes["reshaped_input_sizes"] = row_of({sized.height, sized.width});
    return inputs;
  }

  PixelOptions pixels_;
  int64_t longest_ = 0;
  Size padded_;
};

}  // namespace

std::shared_ptr<ImageKind> read_detr(ProcessorConfig& config) {
  return read_detection(config);
}

std::shared_ptr<ImageKind> read_mask2former(ProcessorConfig& config) {
  auto kind = read_detection(config);
  kind->step_ = config.integer("size_divisor", 32, 1, 4096);
  return kind;
}

std::shared_ptr<ImageKind> read_sam(ProcessorConfig& config) {
  auto kind = std::make_shared<SamKind>();
  kind->pixels_ = config.pixels(Filter::Bilinear, kImageNetMean, kImageNetStd);
  kind->longest_ = config.longest_edge("size", 1024);
  kind->padded_ = config.fixed_size("pad_size", {1024, 1024});
  config.require_flag("do_pad", true);
  return kind;
}

}  // namespace pippin::image
