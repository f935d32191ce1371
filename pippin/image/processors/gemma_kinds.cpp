// Gemma 3 and Gemma 4.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "pippin/image/processors/frame_choice.h"
#include "pippin/image/processors/kinds.h"
#include "pippin/image/processors/tiles.h"

namespace pippin::image {
namespace {

class Gemma3Kind : public ImageKind {
 public:
  ImageInputs process(const Picture& picture) const override {
    ImageInputs inputs;
    inputs.pixel_values = stacked({resized(picture, size_, pixels_)}, pixels_);
    inputs.sizes["num_crops"] = list_of({0});
    return inputs;
  }

  PixelOptions pixels_;
  Size size_;
};

}  // namespace

std::shared_ptr<ImageKind> read_gemma3(ProcessorConfig& config) {
  auto kind = std::make_shared<Gemma3Kind>();
  kind->pixels_ = config.pixels(Filter::Bilinear, kHalf, kHalf);
  kind->size_ = config.fixed_size("size", {224, 224});
  config.require_flag("do_center_crop", false);
  // transformers' processor of the model disables it, whatever the file says; only an argument of
  // the call enables it.
  config.ignore("do_pan_and_scan");
  return kind;
}

namespace {

// Patches of [patch, patch, channels] in rows, at most as many as become `max_soft_tokens_` rows;
// the free ones are zeros at the position (-1, -1).
class Gemma4Kind : public ImageKind {
 public:
  ImageInputs process(const Picture& picture) const override {
    const int64_t most = max_soft_tokens_ * pooling_ * pooling_;
    const Picture sized = resized(picture, target(size_of(picture), most), pixels_);
    const FloatArray planes = float_pixels(sized, pixels_);
    const int64_t rows = sized.height / patch_, columns = sized.width / patch_;
    if (rows * columns > most) {
      fail(ErrorCode::InvalidArgument, "a picture of {} x {} pixels has {} patches (limit: {})",
           sized.width, sized.height, rows * columns, most);
    }
    ImageInputs inputs;
    const int64_t features = patch_ * patch_ * 3;
    FloatArray& pixels = inputs.pixel_values;
    pixels.shape = {1, most, features};
    pixels.values.reserve(static_cast<size_t>(most * features));
    IntArray& places = inputs.sizes["image_position_ids"];
    places.shape = {1, most, 2};
    places.values.reserve(static_cast<size_t>(most) * 2);
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t column = 0; column < columns; ++column) {
        places.values.push_back(column);
        places.values.push_back(row);
        for (int64_t i = 0; i < features; ++i) {
          const int64_t pixel = i / 3, channel = i % 3;
          pixels.values.push_back(planes.values[static_cast<size_t>(
              (channel * sized.height + row * patch_ + pixel / patch_) * sized.width +
              column * patch_ + pixel % patch_)]);
        }
      }
    }
    pixels.values.resize(static_cast<size_t>(most * features));
    places.values.resize(static_cast<size_t>(most) * 2, -1);
    inputs.sizes["num_soft_tokens_per_image"] = list_of({rows * columns / (pooling_ * pooling_)});
    return inputs;
  }

  PixelOptions pixels_;
  int64_t patch_ = 0, pooling_ = 0, max_soft_tokens_ = 0;

 private:
  Size target(Size size, int64_t most_patches) const {
    const auto height = static_cast<double>(size.height), width = static_cast<double>(size.width);
    const double area = static_cast<double>(most_patches * patch_ * patch_);
    const double scale = std::sqrt(area / (height * width));
    const int64_t step = pooling_ * patch_;
    const auto side = [&](double exact) {
      return static_cast<int64_t>(std::floor(exact / static_cast<double>(step))) * step;
    };
    Size result{side(scale * height), side(scale * width)};
    const int64_t longest = max_soft_tokens_ * step;
    if (result.height == 0) {
      result = {step, std::min(static_cast<int64_t>(width / height) * step, longest)};
    } else if (result.width == 0) {
      result = {std::min(static_cast<int64_t>(height / width) * step, longest), step};
    }
    return result;
  }
};

// Each frame as a picture.
class Gemma4VideoKind : public Gemma4Kind {
 public:
  ImageInputs process_video(const Video& video, double fps) const override {
    const ChosenFrames chosen = choose_frames(video, choice_, fps);
    ImageInputs inputs;
    for (const int64_t index : chosen.indices) {
      ImageInputs own = process(video.frames[static_cast<size_t>(index)]);
      append(own.pixel_values, inputs.pixel_values);
      for (const auto& [name, numbers] : own.sizes) append(numbers, inputs.sizes[name]);
    }
    inputs.times = chosen.times;
    inputs.seconds = chosen.seconds;
    inputs.seconds_per_patch = chosen.seconds / static_cast<double>(chosen.times.size());
    return inputs;
  }

  FrameChoice choice_;

 private:
  template <typename Numbers>
  static void append(const Numbers& part, Numbers& all) {
    const int64_t before = all.shape.empty() ? 0 : all.shape.front();
    all.shape = part.shape;
    all.shape.front() += before;
    all.values.insert(all.values.end(), part.values.begin(), part.values.end());
  }
};

void read_soft_tokens(ProcessorConfig& config, int64_t fallback, bool normalize, Gemma4Kind& kind) {
  kind.pixels_ = config.pixels(Filter::Bicubic, {}, {1, 1, 1}, normalize);
  kind.patch_ = config.integer("patch_size", 16, 1, 64);
  kind.pooling_ = config.integer("pooling_kernel_size", 3, 1, 8);
  kind.max_soft_tokens_ = config.integer("max_soft_tokens", fallback, 1, 1120);
  constexpr std::array<int64_t, 5> kBudgets = {70, 140, 280, 560, 1120};
  if (std::find(kBudgets.begin(), kBudgets.end(), kind.max_soft_tokens_) == kBudgets.end()) {
    config.invalid("max_soft_tokens", fmt::format("{} is not one of {}", kind.max_soft_tokens_,
                                                  fmt::join(kBudgets, ", ")));
  }
}

}  // namespace

std::shared_ptr<ImageKind> read_gemma4(ProcessorConfig& config) {
  auto kind = std::make_shared<Gemma4Kind>();
  read_soft_tokens(config, 280, /*normalize=*/false, *kind);
  return kind;
}

std::shared_ptr<ImageKind> read_gemma4_video(ProcessorConfig& config) {
  auto kind = std::make_shared<Gemma4VideoKind>();
  read_soft_tokens(config, 70, /*normalize=*/true, *kind);
  kind->choice_ = read_frame_choice(config, 32);
  return kind;
}

}  // namespace pippin::image
