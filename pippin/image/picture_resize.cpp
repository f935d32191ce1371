#include "pippin/image/picture_resize.h"

#include <algorithm>
#include <cmath>

namespace pippin {
namespace {

// The source pixels of one result pixel along an axis, and their weights.
struct Mix {
  int64_t first = 0;
  std::vector<float> shares;
};

// For `count` pixels from the range [begin, end) of an axis of `size` pixels: a triangle around
// each pixel's center, two source pixels wide or, when shrinking, two result pixels.
std::vector<Mix> mixes_of(double begin, double end, int64_t size, int64_t count) {
  const double scale = (end - begin) / static_cast<double>(count);
  const double reach = std::max(scale, 1.0);
  std::vector<Mix> mixes;
  for (int64_t i = 0; i < count; ++i) {
    const double center = begin + (static_cast<double>(i) + 0.5) * scale;
    Mix mix;
    mix.first = std::clamp<int64_t>(std::llround(center - reach), 0, size - 1);
    const int64_t last = std::clamp<int64_t>(std::llround(center + reach), mix.first + 1, size);
    double sum = 0;
    std::vector<double> shares;
    for (int64_t k = mix.first; k < last; ++k) {
      const double distance = std::abs(static_cast<double>(k) + 0.5 - center) / reach;
      shares.push_back(std::max(1 - distance, 0.0));
      sum += shares.back();
    }
    for (const double share : shares) {
      mix.shares.push_back(
          static_cast<float>(sum > 0 ? share / sum : 1.0 / static_cast<double>(shares.size())));
    }
    mixes.push_back(std::move(mix));
  }
  return mixes;
}

struct Box {
  double left, top, right, bottom;
};

Picture stretched(const Picture& picture, const Box& box, int64_t width, int64_t height) {
  const auto channels = static_cast<size_t>(picture.channels);
  const auto row_size = static_cast<size_t>(width) * channels;
  const std::vector<Mix> columns = mixes_of(box.left, box.right, picture.width, width);
  const std::vector<Mix> rows = mixes_of(box.top, box.bottom, picture.height, height);
  std::vector<float> narrow(static_cast<size_t>(picture.height) * row_size);
  for (int64_t y = 0; y < picture.height; ++y) {
    const uint8_t* from = picture.pixels.data() + static_cast<size_t>(y * picture.width) * channels;
    float* to = narrow.data() + static_cast<size_t>(y) * row_size;
    for (const Mix& mix : columns) {
      for (size_t channel = 0; channel < channels; ++channel) {
        float sum = 0;
        for (size_t k = 0; k < mix.shares.size(); ++k) {
          sum +=
              mix.shares[k] *
              static_cast<float>(from[(static_cast<size_t>(mix.first) + k) * channels + channel]);
        }
        *to++ = sum;
      }
    }
  }
  Picture result{width, height, picture.channels, {}};
  result.pixels.reserve(static_cast<size_t>(height) * row_size);
  for (const Mix& mix : rows) {
    for (size_t i = 0; i < row_size; ++i) {
      float sum = 0;
      for (size_t k = 0; k < mix.shares.size(); ++k) {
        sum += mix.shares[k] * narrow[(static_cast<size_t>(mix.first) + k) * row_size + i];
      }
      result.pixels.push_back(static_cast<uint8_t>(std::clamp(std::lround(sum), 0L, 255L)));
    }
  }
  return result;
}

// Places the picture in the middle of a black one.
Picture framed(const Picture& picture, int64_t width, int64_t height) {
  Picture result{width, height, picture.channels, {}};
  const auto channels = static_cast<size_t>(picture.channels);
  result.pixels.resize(static_cast<size_t>(width * height) * channels);
  const int64_t left = (width - picture.width) / 2, top = (height - picture.height) / 2;
  const auto row_size = static_cast<size_t>(picture.width) * channels;
  for (int64_t y = 0; y < picture.height; ++y) {
    std::copy_n(
        picture.pixels.begin() + static_cast<ptrdiff_t>(static_cast<size_t>(y) * row_size),
        row_size,
        result.pixels.begin() +
            static_cast<ptrdiff_t>(static_cast<size_t>((top + y) * width + left) * channels));
  }
  return result;
}

}  // namespace

std::optional<ResizeMode> parse_resize_mode(std::string_view name) {
  if (name == "fit" || name == "scaleFit") return ResizeMode::Fit;
  if (name == "fill" || name == "centerCrop") return ResizeMode::Fill;
  if (name == "stretch" || name == "scaleFill") return ResizeMode::Stretch;
  return std::nullopt;
}

Picture resized(const Picture& picture, int64_t width, int64_t height, ResizeMode mode) {
  const auto own_width = static_cast<double>(picture.width);
  const auto own_height = static_cast<double>(picture.height);
  const double x_scale = static_cast<double>(width) / own_width;
  const double y_scale = static_cast<double>(height) / own_height;
  const Box whole = {0, 0, own_width, own_height};
  if (mode == ResizeMode::Stretch) return stretched(picture, whole, width, height);
  if (mode == ResizeMode::Fill) {
    const double scale = std::max(x_scale, y_scale);
    const double x = (own_width - static_cast<double>(width) / scale) / 2;
    const double y = (own_height - static_cast<double>(height) / scale) / 2;
    return stretched(picture, {x, y, own_width - x, own_height - y}, width, height);
  }
  const double scale = std::min(x_scale, y_scale);
  const auto size = [&](double own, int64_t most) {
    return std::clamp<int64_t>(std::llround(own * scale), 1, most);
  };
  return framed(stretched(picture, whole, size(own_width, width), size(own_height, height)), width,
                height);
}

}  // namespace pippin
