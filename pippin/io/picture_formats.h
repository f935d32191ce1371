// The readers behind parse_picture() and the writers behind write_picture(), one for each kind of
// file (image.h).
#pragma once

#include <cstdint>
#include <string>

#include "pippin/io/image.h"

namespace pippin {

// Throws InvalidFile for no pixels, LimitExceeded for more than the limits allow.
void check_picture_size(int64_t width, int64_t height, const std::string& name,
                        const PictureLimits& limits);

Picture parse_jpeg(ByteSpan file, const std::string& name, const PictureLimits& limits);
Picture parse_bmp(ByteSpan file, const std::string& name, const PictureLimits& limits);

std::string format_jpeg(const Picture& picture);
std::string format_bmp(const Picture& picture);

}  // namespace pippin
