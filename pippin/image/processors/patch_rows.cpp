#include "pippin/image/processors/patch_rows.h"

#include "pippin/base/error.h"

namespace pippin::image {

void append_patch_rows(const Picture& picture, const PixelOptions& options, int64_t side,
                       int64_t most, ImageInputs& inputs) {
  const int64_t rows = picture.height / side, columns = picture.width / side;
  const int64_t count = rows * columns, features = side * side * 3;
  // As large as a picture may be after resizing.
  constexpr int64_t kMostPixels = int64_t{1} << 26;
  if (most * side * side > kMostPixels) {
    fail(ErrorCode::LimitExceeded, "{} patches of {} x {} pixels (limit: {} pixels)", most, side,
         side, kMostPixels);
  }
  if (count < 1 || count > most) {
    fail(ErrorCode::InvalidArgument,
         "a picture of {} x {} pixels has {} patches of {} x {} (1 to {} are possible)",
         picture.width, picture.height, count, side, side, most);
  }
  FloatArray& pixels = inputs.pixel_values;
  IntArray& mask = inputs.sizes["pixel_attention_mask"];
  IntArray& shapes = inputs.sizes["spatial_shapes"];
  const FloatArray planes = float_pixels(picture, options);
  pixels.values.reserve(pixels.values.size() + static_cast<size_t>(most * features));
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      for (int64_t i = 0; i < features; ++i) {
        const int64_t pixel = i / 3, channel = i % 3;
        pixels.values.push_back(planes.values[static_cast<size_t>(
            (channel * picture.height + row * side + pixel / side) * picture.width + column * side +
            pixel % side)]);
      }
    }
  }
  const auto free = static_cast<size_t>(most - count);
  pixels.values.resize(pixels.values.size() + free * static_cast<size_t>(features));
  mask.values.resize(mask.values.size() + static_cast<size_t>(count), 1);
  mask.values.resize(mask.values.size() + free, 0);
  shapes.values.push_back(rows);
  shapes.values.push_back(columns);
  const int64_t pictures = std::ssize(shapes.values) / 2;
  pixels.shape = {pictures, most, features};
  mask.shape = {pictures, most};
  shapes.shape = {pictures, 2};
}

}  // namespace pippin::image
