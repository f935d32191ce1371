// Resizes pictures.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "pippin/image/picture.h"

namespace pippin {

enum class ResizeMode : uint8_t {
  Fit,      // whole picture, between black borders: Vision's scaleFit
  Fill,     // middle of the picture, undistorted: Vision's centerCrop
  Stretch,  // whole picture, distorted: Vision's scaleFill
};
// Parses "fit", "fill", "stretch", or Vision's names.
std::optional<ResizeMode> parse_resize_mode(std::string_view name);

// Interpolates linearly between pixels; when shrinking, averages over all pixels covered.
Picture resized(const Picture& picture, int64_t width, int64_t height, ResizeMode mode);

}  // namespace pippin
