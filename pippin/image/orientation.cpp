#include "pippin/image/orientation.h"

#include <optional>
#include <string_view>

#include "pippin/base/bytes.h"
#include "pippin/image/png_chunks.h"

namespace pippin::image {
namespace {

using std::string_view_literals::operator""sv;

// Unsigned numbers of either byte order, nothing past the end.
class TiffReader {
 public:
  explicit TiffReader(ByteSpan bytes) : bytes_(bytes) {
    const std::string_view text = as_text(bytes);
    big_ = text.starts_with("MM");
    valid_ = (big_ || text.starts_with("II")) && number(2, 2) == 42U;
  }
  bool is_valid() const { return valid_; }

  std::optional<uint32_t> number(size_t at, size_t size) const {
    if (at > bytes_.size() || size > bytes_.size() - at) return std::nullopt;
    uint32_t value = 0;
    for (size_t i = 0; i < size; ++i) {
      const auto byte = std::to_integer<uint32_t>(bytes_[at + i]);
      value |= byte << (8 * (big_ ? size - 1 - i : i));
    }
    return value;
  }

 private:
  ByteSpan bytes_;
  bool big_ = false, valid_ = false;
};

uint32_t big_number(ByteSpan bytes, size_t at, size_t size) {
  uint32_t value = 0;
  for (size_t i = 0; i < size; ++i) {
    value = value << 8 | std::to_integer<uint32_t>(bytes[at + i]);
  }
  return value;
}

}  // namespace

int exif_orientation(ByteSpan exif) {
  if (as_text(exif).starts_with("Exif\0\0"sv)) exif = exif.subspan(6);
  const TiffReader tiff(exif);
  const auto directory = tiff.number(4, 4);
  if (!tiff.is_valid() || !directory) return 1;
  const uint32_t count = tiff.number(*directory, 2).value_or(0);
  constexpr uint32_t kOrientation = 0x0112, kShort = 3;
  for (size_t i = 0; i < count; ++i) {
    const size_t entry = size_t{*directory} + 2 + 12 * i;
    const auto tag = tiff.number(entry, 2);
    if (!tag) return 1;
    if (*tag != kOrientation || tiff.number(entry + 2, 2) != kShort) continue;
    const uint32_t value = tiff.number(entry + 8, 2).value_or(1);
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

int jpeg_orientation(ByteSpan file) {
  size_t at = 2;
  while (file.size() - at >= 4 && file[at] == std::byte{0xff}) {
    const auto marker = std::to_integer<uint32_t>(file[at + 1]);
    constexpr uint32_t kFill = 0xff, kStartOfScan = 0xda, kApp1 = 0xe1;
    if (marker == kFill) {
      ++at;
      continue;
    }
    const size_t size = big_number(file, at + 2, 2);
    if (marker == kStartOfScan || size < 2 || size > file.size() - at - 2) break;
    const ByteSpan body = file.subspan(at + 4, size - 2);
    if (marker == kApp1 && as_text(body).starts_with("Exif\0\0"sv)) return exif_orientation(body);
    at += 2 + size;
  }
  return 1;
}

int png_orientation(ByteSpan file) {
  PngChunks chunks(file);
  while (const auto chunk = chunks.next()) {
    if (chunk->type == "eXIf") return exif_orientation(chunk->body);
  }
  return 1;
}

int webp_orientation(ByteSpan file) {
  size_t at = 12;
  while (at <= file.size() && file.size() - at >= 8) {
    size_t size = 0;
    for (size_t i = 4; i-- > 0;) size = size << 8 | std::to_integer<size_t>(file[at + 4 + i]);
    if (size > file.size() - at - 8) break;
    if (as_text(file.subspan(at, 4)) == "EXIF") return exif_orientation(file.subspan(at + 8, size));
    at += 8 + size + size % 2;
  }
  return 1;
}

Picture upright(Picture picture, int orientation) {
  if (orientation <= 1 || orientation > 8) return picture;
  // From 5 on, rows of the result are columns of the file.
  const bool swapped = orientation >= 5;
  const bool right_to_left =
      orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool bottom_up =
      orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  Picture result{swapped ? picture.height : picture.width,
                 swapped ? picture.width : picture.height,
                 picture.channels,
                 {}};
  const auto channels = static_cast<size_t>(picture.channels);
  result.pixels.reserve(picture.pixels.size());
  for (int64_t y = 0; y < result.height; ++y) {
    for (int64_t x = 0; x < result.width; ++x) {
      int64_t column = swapped ? y : x, row = swapped ? x : y;
      if (right_to_left) column = picture.width - 1 - column;
      if (bottom_up) row = picture.height - 1 - row;
      const auto from =
          picture.pixels.begin() +
          static_cast<ptrdiff_t>(static_cast<size_t>(row * picture.width + column) * channels);
      result.pixels.insert(result.pixels.end(), from, from + picture.channels);
    }
  }
  return result;
}

}  // namespace pippin::image
