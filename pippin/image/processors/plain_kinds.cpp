// Processors that resize, crop and normalize: CLIP, SigLIP, ViT, BEiT, BiT (DINOv2) and others.
#include <cmath>
#include <functional>

#include "pippin/base/error.h"
#include "pippin/image/processors/kinds.h"
#include "pippin/image/processors/sizes.h"

namespace pippin::image {
namespace {

FloatArray batch_of(FloatArray planes) {
  planes.shape.insert(planes.shape.begin(), 1);
  return planes;
}

class PlainKind : public ImageKind {
 public:
  ImageInputs process(const Picture& picture) const override {
    const Size target = pixels_.resize ? target_(size_of(picture)) : size_of(picture);
    return {batch_of(float_pixels(
                crop_ ? middle_part(picture, target) : resized(picture, target, pixels_), pixels_)),
            {},
            {}};
  }

  PixelOptions pixels_;
  std::function<Size(Size)> target_;
  std::optional<Size> crop_;

 private:
  // Computes only the pixels that remain: the other side of a long picture can be very large.
  Picture middle_part(const Picture& picture, Size target) const {
    const int64_t top = middle(target.height, crop_->height, pixels_.backend);
    const int64_t left = middle(target.width, crop_->width, pixels_.backend);
    const Box part{std::max<int64_t>(top, 0),
                   std::max<int64_t>(left, 0),
                   {std::min(crop_->height, target.height), std::min(crop_->width, target.width)}};
    const Picture kept =
        target == size_of(picture)
            ? cropped(picture, part)
            : resampled_part(picture, target, part, pixels_.filter, pixels_.backend);
    return placed(kept, *crop_, std::max<int64_t>(-top, 0), std::max<int64_t>(-left, 0), {});
  }
};

struct PlainDefaults {
  std::string_view type;
  SizeRule size;
  Filter filter;
  std::optional<Size> crop;  // without one, do_center_crop is off by default
  bool square = true;        // a number as size is the side of a square
  std::array<double, 3> mean = kHalf, std = kHalf;
};
constexpr PlainDefaults kPlainDefaults[] = {
    {"BeitImageProcessor", {256, 256}, Filter::Bicubic, {}},
    {"BitImageProcessor",
     {.shortest = 224},
     Filter::Bicubic,
     Size{224, 224},
     false,
     kClipMean,
     kClipStd},
    {"CLIPImageProcessor",
     {.shortest = 224},
     Filter::Bicubic,
     Size{224, 224},
     false,
     kClipMean,
     kClipStd},
    {"MobileNetV2ImageProcessor", {.shortest = 256}, Filter::Bilinear, Size{224, 224}, false},
    {"OwlViTImageProcessor", {768, 768}, Filter::Bicubic, {}, true, kClipMean, kClipStd},
    {"SegformerImageProcessor",
     {512, 512},
     Filter::Bilinear,
     {},
     true,
     kImageNetMean,
     kImageNetStd},
    {"SiglipImageProcessor", {224, 224}, Filter::Bicubic, {}},
    {"ViTImageProcessor", {224, 224}, Filter::Bilinear, {}},
};

void read_crop(ProcessorConfig& config, PlainKind& kind, bool by_default, Size fallback) {
  const Size crop = config.fixed_size("crop_size", fallback);
  if (config.flag("do_center_crop", by_default)) kind.crop_ = crop;
}

// Shortest edges are also numbers of pixels.
SizeRule read_sides(ProcessorConfig& config, const SizeRule& fallback, bool square) {
  const SizeRule rule = config.size("size", fallback, square);
  constexpr int64_t kMost = 1 << 14;
  for (const int64_t side : {rule.height, rule.width, rule.shortest, rule.longest}) {
    if (side > kMost) config.invalid("size", fmt::format("{} pixels (limit: {})", side, kMost));
  }
  return rule;
}

}  // namespace

std::shared_ptr<ImageKind> read_plain(ProcessorConfig& config) {
  for (const PlainDefaults& defaults : kPlainDefaults) {
    if (defaults.type != config.type()) continue;
    auto kind = std::make_shared<PlainKind>();
    kind->pixels_ = config.pixels(defaults.filter, defaults.mean, defaults.std);
    const SizeRule rule = read_sides(config, defaults.size, defaults.square);
    kind->target_ = [rule](Size size) { return target_size(size, rule); };
    read_crop(config, *kind, defaults.crop.has_value(), defaults.crop.value_or(Size{224, 224}));
    // Of labels.
    config.require_flag("do_reduce_labels", false);
    return kind;
  }
  fail(ErrorCode::Internal, "{} has no defaults", config.type());
}

// Below 384 pixels: the shortest edge with a margin, then the middle.
std::shared_ptr<ImageKind> read_convnext(ProcessorConfig& config) {
  auto kind = std::make_shared<PlainKind>();
  kind->pixels_ = config.pixels(Filter::Bilinear, kImageNetMean, kImageNetStd);
  const SizeRule rule = read_sides(config, {.shortest = 384}, false);
  const double share = config.number("crop_pct", 224.0 / 256, 0.01, 1);
  config.require_flag("do_center_crop", false);
  const int64_t edge = rule.shortest != 0 ? rule.shortest : rule.height;
  if (edge == 0) config.invalid("size", "expected a shortest_edge");
  if (edge >= 384) {
    kind->target_ = [edge](Size) { return Size{edge, edge}; };
    return kind;
  }
  const auto margin_edge = static_cast<int64_t>(static_cast<double>(edge) / share);
  kind->target_ = [margin_edge](Size size) { return target_size(size, {.shortest = margin_edge}); };
  if (kind->pixels_.resize) kind->crop_ = Size{edge, edge};
  return kind;
}

// Both sides become multiples of `size_divisor`.
std::shared_ptr<ImageKind> read_textnet(ProcessorConfig& config) {
  auto kind = std::make_shared<PlainKind>();
  kind->pixels_ = config.pixels(Filter::Bilinear, kImageNetMean, kImageNetStd);
  const SizeRule rule = read_sides(config, {.shortest = 640}, false);
  const int64_t step = config.integer("size_divisor", 32, 1, 1 << 14);
  kind->target_ = [rule, step](Size size) {
    const Size target = target_size(size, rule);
    return Size{(target.height + step - 1) / step * step, (target.width + step - 1) / step * step};
  };
  read_crop(config, *kind, false, {224, 224});
  return kind;
}

std::shared_ptr<ImageKind> read_dpt(ProcessorConfig& config) {
  auto kind = std::make_shared<PlainKind>();
  kind->pixels_ = config.pixels(Filter::Bicubic, kHalf, kHalf);
  const Size wanted = config.fixed_size("size", {384, 384});
  const auto step = static_cast<double>(config.integer("ensure_multiple_of", 1, 1, 1 << 14));
  const bool keep_ratio = config.flag("keep_aspect_ratio", false);
  config.require_flag("do_pad", false);
  config.require_flag("do_center_crop", false);
  config.require_flag("do_reduce_labels", false);
  kind->target_ = [=](Size size) {
    double y_scale = static_cast<double>(wanted.height) / static_cast<double>(size.height);
    double x_scale = static_cast<double>(wanted.width) / static_cast<double>(size.width);
    // The side that needs less scaling determines both.
    if (keep_ratio && std::abs(1 - x_scale) < std::abs(1 - y_scale)) {
      y_scale = x_scale;
    } else if (keep_ratio) {
      x_scale = y_scale;
    }
    const auto side = [&](double scale, int64_t length) {
      const double multiple = std::nearbyint(scale * static_cast<double>(length) / step) * step;
      return static_cast<int64_t>(std::max(multiple, step));
    };
    return Size{side(y_scale, size.height), side(x_scale, size.width)};
  };
  return kind;
}

std::shared_ptr<ImageKind> read_superpoint(ProcessorConfig& config) {
  auto kind = std::make_shared<PlainKind>();
  kind->pixels_ = config.pixels(Filter::Bilinear, {}, {1, 1, 1}, false);
  // The class does not normalize.
  config.require_flag("do_normalize", false);
  const Size wanted = config.fixed_size("size", {480, 640});
  config.require_flag("do_grayscale", false);
  kind->target_ = [wanted](Size) { return wanted; };
  return kind;
}

namespace {

// DINOv3 resizes floats instead of 8-bit pixels.
class FloatKind : public ImageKind {
 public:
  ImageInputs process(const Picture& picture) const override {
    PixelOptions rescale = pixels_;
    rescale.normalize = false;
    FloatArray planes = float_pixels(picture, rescale);
    if (pixels_.resize && target_ != size_of(picture)) {
      planes = resampled(planes, target_, pixels_.filter);
    }
    if (pixels_.normalize) {
      const size_t count = planes.values.size() / 3;
      for (size_t i = 0; i < planes.values.size(); ++i) {
        planes.values[i] = static_cast<float>((planes.values[i] - pixels_.mean[i / count]) /
                                              pixels_.std[i / count]);
      }
    }
    return {batch_of(std::move(planes)), {}, {}};
  }

  PixelOptions pixels_;
  Size target_;
};

}  // namespace

std::shared_ptr<ImageKind> read_dinov3(ProcessorConfig& config) {
  if (config.backend() == Backend::Pil) {
    fail(ErrorCode::Unsupported, "{} exists only for torchvision", config.type());
  }
  auto kind = std::make_shared<FloatKind>();
  kind->pixels_ = config.pixels(Filter::Bilinear, kImageNetMean, kImageNetStd);
  kind->target_ = config.fixed_size("size", {224, 224});
  config.require_flag("do_center_crop", false);
  return kind;
}

}  // namespace pippin::image
