// Pictures in another size.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "pippin/io/image.h"

namespace pippin {

enum class ResizeMode : uint8_t {
  Fit,      // all of the picture, between black borders: Vision's scaleFit
  Fill,     // the middle of the picture, nothing distorted: Vision's centerCrop
  Stretch,  // all of the picture, distorted: Vision's scaleFill
};
// "fit", "fill", "stretch", or Vision's names.
std::optional<ResizeMode> parse_resize_mode(std::string_view name);

// Linear between pixels; where the picture becomes smaller, over all pixels that one is made of.
Picture resized(const Picture& picture, int64_t width, int64_t height, ResizeMode mode);

}  // namespace pippin
