#include <algorithm>
#include <array>
#include <string>

#include <png.h>

#include "pippin/base/error.h"
#include "pippin/base/files/output.h"
#include "pippin/image/picture_formats.h"

namespace pippin {
namespace {

// Lowercased, because cameras write IMG_1.JPG.
std::string ending_of(const std::filesystem::path& path) {
  std::string ending = path.extension().string();
  for (char& c : ending) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return ending;
}

std::string format_png(const Picture& picture) {
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(picture.width);
  image.height = static_cast<png_uint_32>(picture.height);
  image.format = picture.channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  const auto check = [&](int done) {
    const std::string message = image.message;
    if (done == 0) {
      png_image_free(&image);
      fail(ErrorCode::InvalidArgument, "a PNG of {} x {} pixels: {}", picture.width, picture.height,
           message);
    }
  };
  png_alloc_size_t size = 0;
  check(png_image_write_to_memory(&image, nullptr, &size, 0, picture.pixels.data(), 0, nullptr));
  std::string file(size, '\0');
  check(
      png_image_write_to_memory(&image, file.data(), &size, 0, picture.pixels.data(), 0, nullptr));
  file.resize(size);
  return file;
}

// Repeats gray values three times for a color format.
std::string format_netpbm(const Picture& picture, bool gray) {
  if (gray && picture.channels != 1) {
    fail(ErrorCode::InvalidArgument, "a PGM holds gray pictures, this one has colors");
  }
  std::string file = fmt::format("P{}\n{} {}\n255\n", gray ? 5 : 6, picture.width, picture.height);
  for (const uint8_t value : picture.pixels) {
    file.append(gray || picture.channels == 3 ? 1 : 3, static_cast<char>(value));
  }
  return file;
}

}  // namespace

bool is_picture_name(const std::filesystem::path& path) {
  constexpr std::array kEndings = {".png", ".jpg", ".jpeg", ".bmp", ".ppm", ".pgm"};
  return std::find(kEndings.begin(), kEndings.end(), ending_of(path)) != kEndings.end();
}

void write_picture(const std::filesystem::path& path, const Picture& picture) {
  const std::string ending = ending_of(path);
  const std::string file = with_context(path.filename().string(), [&] {
    if (ending == ".png") return format_png(picture);
    if (ending == ".jpg" || ending == ".jpeg") return format_jpeg(picture);
    if (ending == ".bmp") return format_bmp(picture);
    if (ending == ".ppm" || ending == ".pgm") return format_netpbm(picture, ending == ".pgm");
    fail(ErrorCode::InvalidArgument, "not the name of a picture (.png, .jpg, .bmp, .ppm or .pgm)");
  });
  write_file(path, file);
}

}  // namespace pippin
