#include "pippin/image/resample.h"

#include <algorithm>
#include <array>

#include "pippin/base/error.h"
#include "pippin/image/resample_weights.h"

namespace pippin::image {
namespace {

constexpr int64_t kMostPixels = int64_t{1} << 26;

void check_result(Size size) {
  if (size.width <= 0 || size.height <= 0) {
    fail(ErrorCode::InvalidArgument, "a picture cannot be resized to {} x {} pixels", size.width,
         size.height);
  }
  if (size.width > kMostPixels / size.height) {
    fail(ErrorCode::LimitExceeded, "a picture is resized to {} x {} pixels (limit: {} pixels)",
         size.width, size.height, kMostPixels);
  }
}

uint8_t rounded(int32_t sum, int bits) {
  return static_cast<uint8_t>(std::clamp(sum >> bits, 0, 255));
}

// One row from a row of `channels` interleaved values per pixel.
template <size_t kChannels>
void mix_columns(const uint8_t* from, uint8_t* to, const AxisWeights& axis,
                 const FixedWeights& fixed) {
  const int32_t half = 1 << (fixed.bits - 1);
  for (const AxisWeights::Taps& taps : axis.taps) {
    std::array<int32_t, kChannels> sums;
    sums.fill(half);
    const uint8_t* pixel = from + static_cast<size_t>(taps.first) * kChannels;
    for (size_t k = 0; k < static_cast<size_t>(taps.count); ++k, pixel += kChannels) {
      const int32_t weight = fixed.weights[taps.at + k];
      for (size_t channel = 0; channel < kChannels; ++channel) {
        sums[channel] += weight * pixel[channel];
      }
    }
    for (size_t channel = 0; channel < kChannels; ++channel) {
      *to++ = rounded(sums[channel], fixed.bits);
    }
  }
}

// Returns rows `first` to `first + count - 1`, with the columns resized.
Picture with_columns(const Picture& picture, const AxisWeights& columns, int64_t first,
                     int64_t count, Backend backend) {
  const auto width = static_cast<int64_t>(columns.taps.size());
  check_result({count, width});
  Picture result{width, count, picture.channels, {}};
  const auto channels = static_cast<size_t>(picture.channels);
  const size_t from_size = static_cast<size_t>(picture.width) * channels;
  const size_t to_size = columns.taps.size() * channels;
  result.pixels.resize(static_cast<size_t>(count) * to_size);
  const FixedWeights weights = fixed_weights(columns, backend);
  const uint8_t* from = picture.pixels.data() + static_cast<size_t>(first) * from_size;
  uint8_t* to = result.pixels.data();
  for (int64_t y = 0; y < count; ++y, from += from_size, to += to_size) {
    if (channels == 1) {
      mix_columns<1>(from, to, columns, weights);
    } else {
      mix_columns<3>(from, to, columns, weights);
    }
  }
  return result;
}

// Adds the rows in blocks whose sums stay in the fastest cache.
void mix_rows(const uint8_t* rows, size_t row_size, const AxisWeights::Taps& taps,
              const FixedWeights& fixed, uint8_t* to) {
  constexpr size_t kBlock = 512;
  std::array<int32_t, kBlock> sums;
  for (size_t begin = 0; begin < row_size; begin += kBlock) {
    const size_t count = std::min(kBlock, row_size - begin);
    sums.fill(1 << (fixed.bits - 1));
    for (size_t k = 0; k < static_cast<size_t>(taps.count); ++k) {
      const int32_t weight = fixed.weights[taps.at + k];
      const uint8_t* row = rows + k * row_size + begin;
      for (size_t i = 0; i < count; ++i) sums[i] += weight * row[i];
    }
    for (size_t i = 0; i < count; ++i) to[begin + i] = rounded(sums[i], fixed.bits);
  }
}

// Returns the picture, which begins at row `first` of the axis, with the rows resized.
Picture with_rows(const Picture& picture, const AxisWeights& rows, int64_t first, Backend backend) {
  const auto height = static_cast<int64_t>(rows.taps.size());
  check_result({height, picture.width});
  Picture result{picture.width, height, picture.channels, {}};
  const auto row_size = static_cast<size_t>(picture.width * picture.channels);
  result.pixels.resize(rows.taps.size() * row_size);
  const FixedWeights weights = fixed_weights(rows, backend);
  uint8_t* to = result.pixels.data();
  for (const AxisWeights::Taps& taps : rows.taps) {
    mix_rows(picture.pixels.data() + static_cast<size_t>(taps.first - first) * row_size, row_size,
             taps, weights, to);
    to += row_size;
  }
  return result;
}

// Pillow from 13 on begins with the rows if their number shrinks by more than that of the columns.
bool rows_first(const Picture& picture, Size size, Backend backend) {
  return backend == Backend::Pil && size.height < picture.height &&
         picture.height - size.height > picture.width - size.width;
}

// Pixels of both axes are copied, which the fixed-point arithmetic would also do, more slowly.
Picture nearest(const Picture& picture, const AxisWeights& columns, const AxisWeights& rows) {
  Picture result{static_cast<int64_t>(columns.taps.size()),
                 static_cast<int64_t>(rows.taps.size()),
                 picture.channels,
                 {}};
  const auto channels = static_cast<size_t>(picture.channels);
  result.pixels.reserve(columns.taps.size() * rows.taps.size() * channels);
  for (const AxisWeights::Taps& row : rows.taps) {
    for (const AxisWeights::Taps& column : columns.taps) {
      const uint8_t* pixel =
          picture.pixels.data() +
          static_cast<size_t>(row.first * picture.width + column.first) * channels;
      result.pixels.insert(result.pixels.end(), pixel, pixel + channels);
    }
  }
  return result;
}

}  // namespace

Picture resampled_part(const Picture& picture, Size size, const Box& part, Filter filter,
                       Backend backend) {
  check_result(part.size);
  if (part.top < 0 || part.left < 0 || part.size.height > size.height - part.top ||
      part.size.width > size.width - part.left) {
    fail(ErrorCode::InvalidArgument, "{} x {} pixels at column {}, row {} of a picture of {} x {}",
         part.size.width, part.size.height, part.left, part.top, size.width, size.height);
  }
  const auto columns =
      axis_weights(picture.width, size.width, part.left, part.size.width, filter, backend);
  const auto rows =
      axis_weights(picture.height, size.height, part.top, part.size.height, filter, backend);
  if (filter == Filter::Nearest) return nearest(picture, columns, rows);

  if (rows_first(picture, size, backend)) {
    return with_columns(with_rows(picture, rows, 0, backend), columns, 0, part.size.height,
                        backend);
  }
  const int64_t first = rows.begin();
  return with_rows(with_columns(picture, columns, first, rows.end() - first, backend), rows, first,
                   backend);
}

Picture resampled(const Picture& picture, Size size, Filter filter, Backend backend) {
  if (size == Size{picture.height, picture.width}) return picture;
  return resampled_part(picture, size, {0, 0, size}, filter, backend);
}

FloatArray resampled(const FloatArray& planes, Size size, Filter filter) {
  check_result(size);
  const int64_t channels = planes.shape.at(0);
  const int64_t height = planes.shape.at(1), width = planes.shape.at(2);
  const auto columns = axis_weights(width, size.width, 0, size.width, filter, Backend::Torchvision);
  const auto rows = axis_weights(height, size.height, 0, size.height, filter, Backend::Torchvision);
  FloatArray result{{channels, size.height, size.width}, {}};
  const auto row_size = static_cast<size_t>(size.width);
  result.values.reserve(static_cast<size_t>(channels * size.height) * row_size);
  std::vector<float> narrow(static_cast<size_t>(height) * row_size);
  for (int64_t channel = 0; channel < channels; ++channel) {
    float* to = narrow.data();
    for (int64_t y = 0; y < height; ++y) {
      const float* from = planes.values.data() + (channel * height + y) * width;
      for (const AxisWeights::Taps& taps : columns.taps) {
        double sum = 0;
        for (int64_t k = 0; k < taps.count; ++k) {
          sum += columns.weights[taps.at + static_cast<size_t>(k)] * from[taps.first + k];
        }
        *to++ = static_cast<float>(sum);
      }
    }
    for (const AxisWeights::Taps& taps : rows.taps) {
      const float* first = narrow.data() + static_cast<size_t>(taps.first) * row_size;
      for (size_t x = 0; x < row_size; ++x) {
        double sum = 0;
        for (size_t k = 0; k < static_cast<size_t>(taps.count); ++k) {
          sum += rows.weights[taps.at + k] * first[k * row_size + x];
        }
        result.values.push_back(static_cast<float>(sum));
      }
    }
  }
  return result;
}

}  // namespace pippin::image
