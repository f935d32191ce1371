#include "pippin/image/picture.h"
#include "pippin/io/zip_testing.h"
#include "tests/memory/hostile.h"

namespace pippin {
namespace {

using namespace std::string_literals;

std::string high_first(uint32_t value) {
  std::string result;
  for (int shift = 24; shift >= 0; shift -= 8) result += static_cast<char>(value >> shift);
  return result;
}

std::string png_chunk(const std::string& type, const std::string& content) {
  return high_first(static_cast<uint32_t>(content.size())) + type + content +
         high_first(crc_of(type + content));
}
// One bit per pixel, and nothing after the header.
std::string png(uint32_t width, uint32_t height) {
  return "\x89PNG\r\n\x1a\n"s +
         png_chunk("IHDR", high_first(width) + high_first(height) + "\1\0\0\0\0"s) +
         png_chunk("IDAT", std::string(1'000, '\0')) + png_chunk("IEND", "");
}

std::string bmp(uint32_t width, uint32_t height) {
  std::string file = "BM" + std::string(8, '\0');
  for (const uint32_t number : {54U, 40U, width, height}) append_number<uint32_t>(file, number);
  append_number<uint16_t>(file, 1);
  append_number<uint16_t>(file, 1);  // a bit a pixel
  return file + std::string(1'024, '\0');
}

std::string jpeg(uint16_t width, uint16_t height) {
  const auto two = [](uint16_t value) { return high_first(value).substr(2); };
  return "\xff\xd8\xff\xc0"s + two(17) + "\x08" + two(height) + two(width) +
         "\x03\x01\x11\0\x02\x11\0\x03\x11\0"s + std::string(1'000, '\0');
}

}  // namespace

// The largest legitimate expansion of a byte by a format's compression, held as pixels: a thousand
// times 8 one-bit pixels for PNG, blocks of 64 one-bit pixels for JPEG.
std::vector<Hostile> hostile_pictures() {
  const auto read = [](const std::string& file) { parse_picture(as_byte_span(file), "x"); };
  constexpr double kPng = 1032 * 8 * 2, kJpeg = 8 * 64 * 3;
  return {
      {"png, large", kPng, png(16'000, 16'000), read},
      {"png, too large", 4, png(2'000'000'000, 2'000'000'000), read},
      {"bmp, large", 64, bmp(16'000, 16'000), read},
      {"bmp, too large", 4, bmp(2'000'000'000, 2'000'000'000), read},
      {"jpeg, large", kJpeg, jpeg(16'000, 16'000), read},
      {"jpeg, too large", 4, jpeg(65'500, 65'500), read},
      {"ppm, large", 4, "P6 16000 16000 255\n" + std::string(1'000, '\0'), read},
      {"pgm, too large", 4, "P5 999999999 999999999 255\n", read},
  };
}

}  // namespace pippin
