// PNG through libpng's row interface. Its errors return by longjmp, so no object with a destructor
// may live between the call and the point of return.
#include <array>
#include <csetjmp>
#include <cstring>

#include <png.h>

#include "pippin/base/error.h"
#include "pippin/image/picture_formats.h"
#include "pippin/image/picture_frames.h"
#include "pippin/image/png_chunks.h"

namespace pippin::image {
namespace {

struct PngReader {
  png_structp png;
  png_infop info;
  const std::byte* next;
  size_t left;
  std::jmp_buf failed;
  std::array<char, 128> message;
};

[[noreturn]] void leave_png(png_structp png, png_const_charp message) {
  auto* reader = static_cast<PngReader*>(png_get_error_ptr(png));
  std::strncpy(reader->message.data(), message, reader->message.size() - 1);
  std::longjmp(reader->failed, 1);
}

void ignore_warning(png_structp, png_const_charp) {}

void take_bytes(png_structp png, png_bytep to, size_t size) {
  auto* reader = static_cast<PngReader*>(png_get_io_ptr(png));
  if (size > reader->left) png_error(png, "the file ends within the picture");
  std::memcpy(to, reader->next, size);
  reader->next += size;
  reader->left -= size;
}

// Sets the number of channels.
bool read_png_header(PngReader& reader, int& channels) {
  if (setjmp(reader.failed) != 0) return false;
  png_read_info(reader.png, reader.info);
  png_set_expand(reader.png);
  png_set_strip_16(reader.png);
  const int type = png_get_color_type(reader.png, reader.info);
  const bool alpha = (type & PNG_COLOR_MASK_ALPHA) != 0 ||
                     png_get_valid(reader.png, reader.info, PNG_INFO_tRNS) != 0;
  if (alpha) png_set_gray_to_rgb(reader.png);
  png_set_interlace_handling(reader.png);
  png_read_update_info(reader.png, reader.info);
  channels = png_get_channels(reader.png, reader.info);
  return true;
}

bool read_png_rows(PngReader& reader, unsigned char* pixels, size_t row_size, size_t rows) {
  if (setjmp(reader.failed) != 0) return false;
  const int passes = png_get_interlace_type(reader.png, reader.info) == PNG_INTERLACE_ADAM7 ? 7 : 1;
  for (int pass = 0; pass < passes; ++pass) {
    for (size_t y = 0; y < rows; ++y) {
      png_read_row(reader.png, pixels + y * row_size, nullptr);
    }
  }
  return true;
}

struct OwnedPngReader : PngReader {
  explicit OwnedPngReader(ByteSpan file) : PngReader{} {
    next = file.data();
    left = file.size();
    png = png_create_read_struct(PNG_LIBPNG_VER_STRING, static_cast<PngReader*>(this), leave_png,
                                 ignore_warning);
    if (png != nullptr) info = png_create_info_struct(png);
    if (info == nullptr) fail(ErrorCode::Internal, "libpng has no memory or another version");
    png_set_read_fn(png, static_cast<PngReader*>(this), take_bytes);
  }
  OwnedPngReader(const OwnedPngReader&) = delete;
  OwnedPngReader& operator=(const OwnedPngReader&) = delete;
  ~OwnedPngReader() { png_destroy_read_struct(&png, &info, nullptr); }
};

}  // namespace

Picture parse_png_pixels(ByteSpan file, const std::string& name, const PictureLimits& limits) {
  constexpr size_t kHeader = 33;
  if (file.size() < kHeader)
    fail(ErrorCode::InvalidFile, "{}: the file has {} bytes", name, file.size());
  const int64_t width = png_number(file, 16), height = png_number(file, 20);
  check_png_size(width, height, file.size(), name, limits);
  OwnedPngReader reader(file);
  const auto check = [&](bool done) {
    if (!done) fail(ErrorCode::InvalidFile, "{}: {}", name, reader.message.data());
  };
  Picture picture{width, height, 0, {}};
  check(read_png_header(reader, picture.channels));
  const auto row_size = static_cast<size_t>(width * picture.channels);
  if (png_get_rowbytes(reader.png, reader.info) != row_size) {
    fail(ErrorCode::InvalidFile, "{}: {} bytes per row, expected {}", name,
         png_get_rowbytes(reader.png, reader.info), row_size);
  }
  picture.pixels.resize(row_size * static_cast<size_t>(height));
  check(read_png_rows(reader, picture.pixels.data(), row_size, static_cast<size_t>(height)));
  return picture;
}

}  // namespace pippin::image
