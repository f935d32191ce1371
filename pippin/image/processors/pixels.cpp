#include "pippin/image/processors/pixels.h"

#include <algorithm>

#include "pippin/base/error.h"

namespace pippin::image {
namespace {

// Pillow's alpha_composite() over opaque white.
uint8_t over_white_pixel(uint8_t value, uint8_t alpha) {
  const int sum = ((value * alpha + 255 * (255 - alpha)) << 7) + (128 << 7);
  return static_cast<uint8_t>((((sum >> 8) + sum) >> 8) >> 7);
}

size_t pixels_of(Size size) {
  return static_cast<size_t>(size.height * size.width);
}

}  // namespace

Size size_of(const Picture& picture) {
  return {picture.height, picture.width};
}

Picture rgb_picture(const Picture& picture, bool over_white) {
  if (picture.channels == 3) return picture;
  Picture result{picture.width, picture.height, 3, {}};
  const auto channels = static_cast<size_t>(picture.channels);
  result.pixels.reserve(pixels_of(size_of(picture)) * 3);
  for (size_t i = 0; i < picture.pixels.size(); i += channels) {
    for (size_t channel = 0; channel < 3; ++channel) {
      const uint8_t value = picture.pixels[channels == 1 ? i : i + channel];
      result.pixels.push_back(
          channels == 4 && over_white ? over_white_pixel(value, picture.pixels[i + 3]) : value);
    }
  }
  return result;
}

Picture resized(const Picture& picture, Size size, const PixelOptions& options) {
  if (!options.resize) return picture;
  return resampled(picture, size, options.filter, options.backend);
}

Picture cropped(const Picture& picture, const Box& part) {
  return placed(picture, part.size, -part.top, -part.left, {});
}

Picture placed(const Picture& picture, Size size, int64_t top, int64_t left, Color background) {
  constexpr int64_t kMostPixels = int64_t{1} << 26;
  if (size.width > kMostPixels / std::max<int64_t>(size.height, 1)) {
    fail(ErrorCode::LimitExceeded, "a picture is padded to {} x {} pixels (limit: {} pixels)",
         size.width, size.height, kMostPixels);
  }
  if (top == 0 && left == 0 && size == size_of(picture)) return picture;
  Picture result{size.width, size.height, 3, {}};
  result.pixels.resize(pixels_of(size) * 3);
  const bool covered = top <= 0 && left <= 0 && top + picture.height >= size.height &&
                       left + picture.width >= size.width;
  if (!covered && background != Color{}) {
    for (size_t i = 0; i < result.pixels.size(); ++i) result.pixels[i] = background[i % 3];
  }
  const int64_t begin = std::max<int64_t>(left, 0);
  const int64_t end = std::min(left + picture.width, size.width);
  if (begin >= end) return result;
  for (int64_t y = std::max<int64_t>(top, 0); y < std::min(top + picture.height, size.height);
       ++y) {
    const auto from = picture.pixels.begin() + ((y - top) * picture.width + begin - left) * 3;
    std::copy(from, from + (end - begin) * 3, result.pixels.begin() + (y * size.width + begin) * 3);
  }
  return result;
}

int64_t middle(int64_t actual, int64_t wanted, Backend backend) {
  if (wanted <= actual) return (actual - wanted) / 2;
  return -(backend == Backend::Pil ? (wanted - actual + 1) / 2 : (wanted - actual) / 2);
}

void append_pixels(const Picture& picture, const PixelOptions& options,
                   std::vector<float>& values) {
  const size_t count = pixels_of(size_of(picture));
  values.reserve(values.size() + 3 * count);
  for (size_t channel = 0; channel < 3; ++channel) {
    // All results of a channel, computed once.
    std::array<float, 256> results;
    for (size_t level = 0; level < 256; ++level) {
      double value = static_cast<double>(level);
      if (options.rescale) value *= options.factor;
      if (options.normalize) value = (value - options.mean[channel]) / options.std[channel];
      results[level] = static_cast<float>(value);
    }
    for (size_t i = 0; i < count; ++i) values.push_back(results[picture.pixels[3 * i + channel]]);
  }
}

FloatArray float_pixels(const Picture& picture, const PixelOptions& options) {
  FloatArray result{{3, picture.height, picture.width}, {}};
  append_pixels(picture, options, result.values);
  return result;
}

FloatArray zero_padded(const FloatArray& planes, Size size) {
  const int64_t height = planes.shape.at(1), width = planes.shape.at(2);
  if (size == Size{height, width}) return planes;
  FloatArray result{{3, size.height, size.width}, {}};
  result.values.resize(3 * pixels_of(size));
  for (int64_t row = 0; row < 3 * height; ++row) {
    const auto from = planes.values.begin() + row * width;
    const int64_t to = (row / height) * size.height + row % height;
    std::copy(from, from + width, result.values.begin() + to * size.width);
  }
  return result;
}

IntArray mask_of(Size inner, Size size) {
  IntArray mask{{1, size.height, size.width}, {}};
  mask.values.resize(pixels_of(size));
  for (int64_t y = 0; y < inner.height; ++y) {
    std::fill_n(mask.values.begin() + y * size.width, inner.width, 1);
  }
  return mask;
}

}  // namespace pippin::image
