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

// Throws InvalidFile if the pixels of a PNG cannot be in a file of `file_size` bytes, and as above.
void check_png_size(int64_t width, int64_t height, size_t file_size, const std::string& name,
                    const PictureLimits& limits);

enum class Cmyk : uint8_t { Reject, Convert };

Picture parse_jpeg(ByteSpan file, const std::string& name, const PictureLimits& limits,
                   Cmyk cmyk = Cmyk::Reject);
Picture parse_bmp(ByteSpan file, const std::string& name, const PictureLimits& limits);

std::string format_jpeg(const Picture& picture);
std::string format_bmp(const Picture& picture);

}  // namespace pippin
