// Pictures from files: PNG, JPEG, BMP, and netpbm's binary PPM (P6) and PGM (P5), told by their
// first bytes.
//
// What a file holds is made 8 bits a channel without changing a value: palettes and gray levels of
// fewer bits are expanded. Refused as Unsupported: 16 bits a channel, transparent pixels (a file
// whose pixels are all opaque is read), JPEGs in CMYK, compressed BMPs, netpbm files whose largest
// value is not 255. A PNG that states another transfer curve than sRGB's is converted to sRGB by
// libpng. An orientation that a camera noted in a JPEG is not applied, as in Pillow.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "pippin/base/bytes.h"

namespace pippin {

struct Picture {
  int64_t width = 0, height = 0;
  int channels = 3;             // 1: gray; 3: red, green, blue
  std::vector<uint8_t> pixels;  // rows from the top, channels side by side
};

struct PictureLimits {
  int64_t max_pixels = int64_t{1} << 28;
};

// `name` starts every error message. Throws InvalidFile, Unsupported, LimitExceeded.
Picture parse_picture(ByteSpan file, const std::string& name, const PictureLimits& limits = {});
Picture read_picture(const std::filesystem::path& path, const PictureLimits& limits = {});

// Whether the name is that of such a file: .png, .jpg, .jpeg, .bmp, .ppm, .pgm, in any case.
bool is_picture_name(const std::filesystem::path& path);
// The form is that of the name; JPEG has quality 95, and PGM gray pictures alone. The file appears
// complete or not at all. Throws InvalidArgument for other names and colors in PGM, Io.
void write_picture(const std::filesystem::path& path, const Picture& picture);

}  // namespace pippin
