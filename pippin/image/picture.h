// Reads pictures: PNG, JPEG, BMP, and netpbm's binary PPM (P6) and PGM (P5), detected by their
// first bytes.
//
// Pixels are converted to 8 bits per channel without changing values: palettes and gray levels of
// fewer bits are expanded. Unsupported: 16 bits per channel, transparent pixels (files with an
// alpha channel are read if all pixels are opaque), CMYK JPEGs, compressed BMPs, netpbm files whose
// maximum value is not 255. If a PNG has another transfer curve than sRGB's, libpng converts it to
// sRGB. The orientation in a JPEG is not applied, as in Pillow.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "pippin/base/bytes.h"

namespace pippin {

struct Picture {
  int64_t width = 0, height = 0;
  int channels = 3;  // 1: gray; 3: red, green, blue; 4: with alpha (model_picture.h only)
  std::vector<uint8_t> pixels;  // rows from the top, channels interleaved
  double seconds = 0;           // for which a frame of an animation is shown, if the file says so
};

struct PictureLimits {
  int64_t max_pixels = int64_t{1} << 28;
};

// `name` starts error messages. Throws InvalidFile, Unsupported, LimitExceeded.
Picture parse_picture(ByteSpan file, const std::string& name, const PictureLimits& limits = {});
Picture read_picture(const std::filesystem::path& path, const PictureLimits& limits = {});

// Returns whether the name ends with .png, .jpg, .jpeg, .bmp, .ppm or .pgm, in any case.
bool is_picture_name(const std::filesystem::path& path);
// Writes the format of the name; JPEG has quality 95, and PGM requires gray pictures. The file
// appears complete or not at all. Throws InvalidArgument for other names and for colors in PGM, Io.
void write_picture(const std::filesystem::path& path, const Picture& picture);

}  // namespace pippin
