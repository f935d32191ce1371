// Readers and writers for each file format, used by parse_picture() and write_picture()
// (picture.h).
#pragma once

#include <cstdint>
#include <string>

#include "pippin/image/picture.h"

namespace pippin {

// Throws InvalidFile for an empty picture, LimitExceeded above the limits.
void check_picture_size(int64_t width, int64_t height, const std::string& name,
                        const PictureLimits& limits);

Picture parse_jpeg(ByteSpan file, const std::string& name, const PictureLimits& limits);
Picture parse_bmp(ByteSpan file, const std::string& name, const PictureLimits& limits);

std::string format_jpeg(const Picture& picture);
std::string format_bmp(const Picture& picture);

}  // namespace pippin
