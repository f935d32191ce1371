#include "pippin/api/picture.h"

#include <algorithm>
#include <cmath>

#include <fmt/ranges.h>

#include "pippin/base/error.h"

namespace pippin::api {

Picture to_picture(const FeatureInfo& feature, const Tensor& tensor) {
  const std::vector<int64_t>& shape = tensor.shape();
  if (shape.size() != 4 || shape[0] != 1 || (shape[1] != 1 && shape[1] != 3)) {
    fail(ErrorCode::InvalidFile, "the image output '{}' has the shape {}", feature.name, shape);
  }
  Picture picture{shape[3], shape[2], static_cast<int>(shape[1]), {}};
  const std::vector<float> values = tensor.to_floats();
  const auto channels = static_cast<size_t>(shape[1]);
  const auto count = static_cast<size_t>(shape[2] * shape[3]);
  picture.pixels.resize(values.size());
  for (size_t channel = 0; channel < channels; ++channel) {
    const bool reversed = channels == 3 && feature.color_space == ColorSpace::Bgr;
    const float* plane = values.data() + (reversed ? 2 - channel : channel) * count;
    for (size_t i = 0; i < count; ++i) {
      // float16 outputs may have any value.
      const float level = std::clamp(plane[i] > 0 ? plane[i] : 0.0f, 0.0f, 255.0f);
      picture.pixels[i * channels + channel] = static_cast<uint8_t>(std::nearbyint(level));
    }
  }
  return picture;
}

}  // namespace pippin::api
