// Donut and Nougat: pages in the middle of a canvas.
#include <algorithm>
#include <optional>

#include "pippin/image/processors/kinds.h"
#include "pippin/image/processors/tiles.h"

namespace pippin::image {
namespace {

Picture turned_right(const Picture& picture) {
  Picture result{picture.height, picture.width, 3, {}};
  result.pixels.reserve(picture.pixels.size());
  for (int64_t x = 0; x < picture.width; ++x) {
    for (int64_t y = picture.height - 1; y >= 0; --y) {
      const auto from = picture.pixels.begin() + (y * picture.width + x) * 3;
      result.pixels.insert(result.pixels.end(), from, from + 3);
    }
  }
  return result;
}

class DonutKind : public ImageKind {
 public:
  ImageInputs process(const Picture& picture) const override {
    Picture page = align_ && is_across(picture) ? turned_right(picture) : picture;
    if (pixels_.resize) {
      page = resized(page,
                     target_size(size_of(page), {.shortest = std::min(size_.height, size_.width)}),
                     pixels_);
    }
    if (thumbnail_) page = thumbnail(page);
    if (pad_) {
      page = placed(page, size_, middle_offset(size_.height, page.height),
                    middle_offset(size_.width, page.width), {});
    }
    ImageInputs inputs;
    inputs.pixel_values = stacked({page}, pixels_);
    return inputs;
  }

  PixelOptions pixels_;
  Size size_;
  bool nougat_ = false, align_ = false, thumbnail_ = true, pad_ = true;

 private:
  bool is_across(const Picture& picture) const {
    return (size_.width < size_.height && picture.width > picture.height) ||
           (size_.width > size_.height && picture.width < picture.height);
  }
  // Rounds down also below zero.
  static int64_t middle_offset(int64_t wanted, int64_t actual) { return (wanted - actual) >> 1; }

  Picture thumbnail(const Picture& page) const {
    Size size{std::min(page.height, size_.height), std::min(page.width, size_.width)};
    if (size == size_of(page)) return page;
    if (page.height > page.width) {
      size.width = page.width * size.height / page.height;
    } else if (page.width > page.height) {
      size.height = page.height * size.width / page.width;
    }
    return resampled(page, {std::max<int64_t>(size.height, 1), std::max<int64_t>(size.width, 1)},
                     nougat_ ? Filter::Bicubic : pixels_.filter, pixels_.backend);
  }
};

}  // namespace

std::shared_ptr<ImageKind> read_donut(ProcessorConfig& config) {
  const bool nougat = config.type() == "NougatImageProcessor";
  auto kind = std::make_shared<DonutKind>();
  kind->nougat_ = nougat;
  kind->pixels_ = nougat ? config.pixels(Filter::Bilinear, kImageNetMean, kImageNetStd)
                         : config.pixels(Filter::Bilinear, kHalf, kHalf);
  kind->size_ = config.fixed_size("size", nougat ? Size{896, 672} : Size{2560, 1920});
  kind->align_ = config.flag("do_align_long_axis", false);
  kind->thumbnail_ = config.flag("do_thumbnail", true);
  kind->pad_ = config.flag("do_pad", true);
  config.require_flag("do_center_crop", false);
  if (nougat) config.require_flag("do_crop_margin", false);
  return kind;
}

}  // namespace pippin::image
