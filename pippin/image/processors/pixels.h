// Steps that image processors share, on pixels of 8 bits and on floats.
#pragma once

#include <array>
#include <cstdint>

#include "pippin/image/image_inputs.h"
#include "pippin/image/resample.h"

namespace pippin::image {

using Color = std::array<uint8_t, 3>;

// From pixels to the numbers of a model: (pixel * factor - mean) / std for each channel.
struct PixelOptions {
  Backend backend = Backend::Torchvision;
  bool resize = true;
  Filter filter = Filter::Bicubic;
  bool rescale = true;
  double factor = 1 / 255.0;
  bool normalize = true;
  std::array<double, 3> mean{}, std{1, 1, 1};
};

Size size_of(const Picture& picture);

// Returns the picture with red, green and blue. Gray is repeated; alpha is dropped, as by Pillow's
// convert("RGB"), or composited over white.
Picture rgb_picture(const Picture& picture, bool over_white);

// Resizes with the filter and the backend of the options, if they request resizing at all.
Picture resized(const Picture& picture, Size size, const PixelOptions& options);

// The part must lie within the picture.
Picture cropped(const Picture& picture, const Box& part);
// Returns a picture of `size` with this one at (top, left), which may be partly outside of it.
Picture placed(const Picture& picture, Size size, int64_t top, int64_t left, Color background);
// Returns the start of the middle `wanted` of `actual` pixels; negative: the pixels before it.
int64_t middle(int64_t actual, int64_t wanted, Backend backend);

// Appends the channels of the picture, each [height, width], to `values`.
void append_pixels(const Picture& picture, const PixelOptions& options, std::vector<float>& values);
// Returns [3, height, width].
FloatArray float_pixels(const Picture& picture, const PixelOptions& options);
// Returns [3, size], with zeros below and to the right of the array of [3, height, width].
FloatArray zero_padded(const FloatArray& planes, Size size);
// Returns ones in the upper left `inner` of an array of zeros of [1, height, width].
IntArray mask_of(Size inner, Size size);

}  // namespace pippin::image
