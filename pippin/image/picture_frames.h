// Readers of formats for models, used by model_picture.cpp. Each checks sizes before it decodes.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "pippin/image/picture.h"

namespace pippin::image {

inline constexpr size_t kMostFrames = 4096;

// Without conversions of colors, unlike parse_png() of picture.cpp.
Picture parse_png_pixels(ByteSpan file, const std::string& name, const PictureLimits& limits);
// Each returns at most `most` frames.
std::vector<Picture> parse_png_frames(ByteSpan file, const std::string& name,
                                      const PictureLimits& limits, size_t most);
std::vector<Picture> parse_gif_frames(ByteSpan file, const std::string& name,
                                      const PictureLimits& limits, size_t most);
std::vector<Picture> parse_webp_frames(ByteSpan file, const std::string& name,
                                       const PictureLimits& limits, size_t most);
// With its own rotation applied.
Picture parse_heif(ByteSpan file, const std::string& name, const PictureLimits& limits);

// Throws LimitExceeded if `frames` frames of a size have more pixels than the limit.
void check_frames(int64_t width, int64_t height, size_t frames, const std::string& name,
                  const PictureLimits& limits);

}  // namespace pippin::image
