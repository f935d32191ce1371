// Resizing with the results of Pillow and torchvision, whose numbers models were trained on.
#pragma once

#include <cstdint>

#include "pippin/image/image_inputs.h"
#include "pippin/image/picture.h"

namespace pippin::image {

// Pillow's numbers, which are those of `resample` in configurations.
enum class Filter : uint8_t {
  Nearest = 0,
  Lanczos = 1,
  Bilinear = 2,
  Bicubic = 3,
  Box = 4,
  Hamming = 5,
};

// The library whose arithmetic is reproduced. Both average over all pixels covered when shrinking
// (torchvision: antialias), and round to 8 bits after each of two passes. They differ in the bits
// of their weights, 22 in Pillow, at most 15 in torchvision, and torchvision has no Box and
// Hamming.
enum class Backend : uint8_t { Torchvision, Pil };

struct Size {
  int64_t height = 0, width = 0;
  bool operator==(const Size&) const = default;
};

// A rectangle of pixels.
struct Box {
  int64_t top = 0, left = 0;
  Size size;
};

// Returns the picture in another size. Throws LimitExceeded above 2^26 pixels, Unsupported for a
// filter that torchvision does not have.
Picture resampled(const Picture& picture, Size size, Filter filter, Backend backend);
// Returns a part of the picture in another size, without computing the rest.
Picture resampled_part(const Picture& picture, Size size, const Box& part, Filter filter,
                       Backend backend);
// The same for floats of shape [channels, height, width], as torchvision computes them.
FloatArray resampled(const FloatArray& planes, Size size, Filter filter);

}  // namespace pippin::image
