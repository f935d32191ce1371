// JPEG through libjpeg. Its errors leave by longjmp, so that nothing with a destructor may stand
// between where it is called and where it comes back to: `Reader` holds all that a step needs.
#include <array>
#include <csetjmp>
#include <cstdio>

// libjpeg's header needs FILE and size_t before it.
#include <jerror.h>
#include <jpeglib.h>

#include "pippin/base/error.h"
#include "pippin/io/picture_formats.h"

namespace pippin {
namespace {

// More scans than an encoder makes: a small file can ask for any amount of work by them.
constexpr int kMostScans = 500;

struct Reader {
  jpeg_decompress_struct decompress;
  jpeg_error_mgr errors;
  jpeg_progress_mgr progress;
  std::jmp_buf failed;
  std::array<char, JMSG_LENGTH_MAX> message;
};

Reader& reader_of(j_common_ptr common) {
  return *static_cast<Reader*>(common->client_data);
}

[[noreturn]] void leave(j_common_ptr common) {
  Reader& reader = reader_of(common);
  common->err->format_message(common, reader.message.data());
  std::longjmp(reader.failed, 1);
}

// A warning says that pixels were lost, but for these.
void take_message(j_common_ptr common, int level) {
  const int code = common->err->msg_code;
  const bool harmless =
      code == JWRN_EXTRANEOUS_DATA || code == JWRN_JFIF_MAJOR || code == JWRN_ADOBE_XFORM;
  if (level < 0 && !harmless) leave(common);
}

void count_scans(j_common_ptr common) {
  if (reader_of(common).decompress.input_scan_number <= kMostScans) return;
  Reader& reader = reader_of(common);
  std::snprintf(reader.message.data(), reader.message.size(), "more than %d scans", kMostScans);
  std::longjmp(reader.failed, 1);
}

bool read_header(Reader& reader, const unsigned char* data, unsigned long size) {
  if (setjmp(reader.failed) != 0) return false;
  jpeg_create_decompress(&reader.decompress);
  reader.decompress.client_data = &reader;
  reader.decompress.progress = &reader.progress;
  jpeg_mem_src(&reader.decompress, data, size);
  jpeg_read_header(&reader.decompress, TRUE);
  return true;
}

bool read_pixels(Reader& reader, unsigned char* pixels, size_t row_bytes) {
  if (setjmp(reader.failed) != 0) return false;
  jpeg_start_decompress(&reader.decompress);
  while (reader.decompress.output_scanline < reader.decompress.output_height) {
    JSAMPROW row = pixels + row_bytes * reader.decompress.output_scanline;
    jpeg_read_scanlines(&reader.decompress, &row, 1);
  }
  jpeg_finish_decompress(&reader.decompress);
  return true;
}

// What libjpeg holds is freed with it.
struct OwnedReader : Reader {
  OwnedReader() : Reader{} {
    decompress.err = jpeg_std_error(&errors);
    decompress.client_data = static_cast<Reader*>(this);
    errors.error_exit = leave;
    errors.emit_message = take_message;
    progress.progress_monitor = count_scans;
  }
  OwnedReader(const OwnedReader&) = delete;
  OwnedReader& operator=(const OwnedReader&) = delete;
  ~OwnedReader() { jpeg_destroy_decompress(&decompress); }
};

}  // namespace

Picture parse_jpeg(ByteSpan file, const std::string& name, const PictureLimits& limits) {
  OwnedReader reader;
  const auto check = [&](bool done) {
    if (!done) fail(ErrorCode::InvalidFile, "{}: {}", name, reader.message.data());
  };
  check(read_header(reader, reinterpret_cast<const unsigned char*>(file.data()),
                    static_cast<unsigned long>(file.size())));
  jpeg_decompress_struct& decompress = reader.decompress;
  const int64_t width = decompress.image_width, height = decompress.image_height;
  check_picture_size(width, height, name, limits);
  // A block of 64 pixels takes at least a bit; less where it is coded arithmetically.
  const int64_t pixels_per_byte = decompress.arith_code != 0 ? 64 * 8 * 64 : 64 * 8;
  if (static_cast<uint64_t>(width * height / pixels_per_byte) > file.size()) {
    fail(ErrorCode::InvalidFile, "{}: {} x {} pixels from {} bytes", name, width, height,
         file.size());
  }
  if (decompress.jpeg_color_space == JCS_CMYK || decompress.jpeg_color_space == JCS_YCCK) {
    fail(ErrorCode::Unsupported, "{}: the colors are CMYK, gray and RGB are read", name);
  }
  const bool gray = decompress.jpeg_color_space == JCS_GRAYSCALE;
  decompress.out_color_space = gray ? JCS_GRAYSCALE : JCS_RGB;
  Picture picture{width, height, gray ? 1 : 3, {}};
  const auto row_bytes = static_cast<size_t>(width * picture.channels);
  picture.pixels.resize(row_bytes * static_cast<size_t>(height));
  check(read_pixels(reader, picture.pixels.data(), row_bytes));
  return picture;
}

}  // namespace pippin
