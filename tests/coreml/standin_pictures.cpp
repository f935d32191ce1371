#include "tests/coreml/standin_pictures.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "pippin/base/numbers/float16.h"

namespace pippin::standin {
namespace {

using mil::ColorSpace;

OSType format_of(ColorSpace space) {
  switch (space) {
    case ColorSpace::Grayscale:
      return kCVPixelFormatType_OneComponent8;
    case ColorSpace::GrayscaleFloat16:
      return kCVPixelFormatType_OneComponent16Half;
    default:
      return kCVPixelFormatType_32BGRA;
  }
}

// The byte of a BGRA pixel that holds the program's channel.
size_t byte_of(ColorSpace space, size_t channel) {
  return space == ColorSpace::Bgr ? channel : 2 - channel;
}

}  // namespace

std::string take_picture(const mil::ImageType& declared, CVPixelBufferRef picture,
                         HostArray& array) {
  if (CVPixelBufferGetPixelFormatType(picture) != format_of(declared.color_space)) {
    return "a picture in another format than the model takes";
  }
  const size_t width = CVPixelBufferGetWidth(picture), height = CVPixelBufferGetHeight(picture);
  const size_t row = CVPixelBufferGetBytesPerRow(picture);
  const bool color = format_of(declared.color_space) == kCVPixelFormatType_32BGRA;
  const size_t channels = color ? 3 : 1;
  std::vector<float> values(channels * width * height);
  CVPixelBufferLockBaseAddress(picture, kCVPixelBufferLock_ReadOnly);
  const auto* const base = static_cast<const uint8_t*>(CVPixelBufferGetBaseAddress(picture));
  for (size_t y = 0; y < height; ++y) {
    for (size_t x = 0; x < width; ++x) {
      for (size_t c = 0; c < channels; ++c) {
        float& value = values[(c * height + y) * width + x];
        if (color) {
          value = base[y * row + x * 4 + byte_of(declared.color_space, c)];
        } else if (declared.color_space == ColorSpace::GrayscaleFloat16) {
          uint16_t half;
          std::memcpy(&half, base + y * row + x * 2, sizeof(half));
          value = to_float(float16{half});
        } else {
          value = base[y * row + x];
        }
      }
    }
  }
  CVPixelBufferUnlockBaseAddress(picture, kCVPixelBufferLock_ReadOnly);
  array.type = mil::DataType::Float32;
  array.shape = {1, static_cast<int64_t>(channels), static_cast<int64_t>(height),
                 static_cast<int64_t>(width)};
  const auto bytes = std::as_bytes(std::span(values));
  array.bytes.assign(bytes.begin(), bytes.end());
  return {};
}

CVPixelBufferRef give_picture(const mil::ImageType& declared, const HostArray& array) {
  const auto channels = static_cast<size_t>(array.shape.at(1));
  const auto height = static_cast<size_t>(array.shape.at(2));
  const auto width = static_cast<size_t>(array.shape.at(3));
  CVPixelBufferRef picture = nullptr;
  CVPixelBufferCreate(nullptr, width, height, format_of(declared.color_space), nullptr, &picture);
  CVPixelBufferLockBaseAddress(picture, 0);
  auto* const base = static_cast<uint8_t*>(CVPixelBufferGetBaseAddress(picture));
  const size_t row = CVPixelBufferGetBytesPerRow(picture);
  for (size_t y = 0; y < height; ++y) {
    for (size_t x = 0; x < width; ++x) {
      for (size_t c = 0; c < channels; ++c) {
        float value;
        std::memcpy(&value, array.bytes.data() + ((c * height + y) * width + x) * sizeof(float),
                    sizeof(value));
        const auto byte = static_cast<uint8_t>(std::clamp(std::nearbyint(value), 0.0F, 255.0F));
        if (channels == 3) {
          base[y * row + x * 4 + byte_of(declared.color_space, c)] = byte;
        } else if (declared.color_space == ColorSpace::GrayscaleFloat16) {
          const uint16_t half = to_float16(value).bits;
          std::memcpy(base + y * row + x * 2, &half, sizeof(half));
        } else {
          base[y * row + x] = byte;
        }
      }
      if (channels == 3) base[y * row + x * 4 + 3] = 255;
    }
  }
  CVPixelBufferUnlockBaseAddress(picture, 0);
  return picture;
}

}  // namespace pippin::standin
