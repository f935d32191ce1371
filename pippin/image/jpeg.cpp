// JPEG through libjpeg. Its errors return by longjmp, so no object with a destructor may live
// between the call and the point of return: `Reader` holds everything that a step needs.
#include <array>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>

// libjpeg's header requires FILE and size_t.
#include <jerror.h>
#include <jpeglib.h>

#include "pippin/base/error.h"
#include "pippin/image/picture_formats.h"

namespace pippin {
namespace {

// More scans than any encoder makes. Without a limit, a small file could require unbounded work.
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

// All warnings mean lost pixels, except these.
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

// Frees libjpeg's memory on destruction.
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

namespace {

// Pillow's conversion. The values of Adobe's programs, which write all such files, are inverted.
void convert_inks(Picture& picture) {
  const auto over_255 = [](uint32_t value) { return (value + 128 + ((value + 128) >> 8)) >> 8; };
  size_t to = 0;
  for (size_t from = 0; from < picture.pixels.size(); from += 4, to += 3) {
    const uint32_t white = picture.pixels[from + 3];
    for (size_t channel = 0; channel < 3; ++channel) {
      const uint32_t ink = 255U - picture.pixels[from + channel];
      picture.pixels[to + channel] = static_cast<uint8_t>(white - over_255(ink * white));
    }
  }
  picture.pixels.resize(to);
  picture.channels = 3;
}

}  // namespace

Picture parse_jpeg(ByteSpan file, const std::string& name, const PictureLimits& limits, Cmyk cmyk) {
  OwnedReader reader;
  const auto check = [&](bool done) {
    if (!done) fail(ErrorCode::InvalidFile, "{}: {}", name, reader.message.data());
  };
  check(read_header(reader, reinterpret_cast<const unsigned char*>(file.data()),
                    static_cast<unsigned long>(file.size())));
  jpeg_decompress_struct& decompress = reader.decompress;
  const int64_t width = decompress.image_width, height = decompress.image_height;
  check_picture_size(width, height, name, limits);
  // A block of 64 pixels takes at least one bit, or less with arithmetic coding.
  const int64_t pixels_per_byte = decompress.arith_code != 0 ? 64 * 8 * 64 : 64 * 8;
  if (static_cast<uint64_t>(width * height / pixels_per_byte) > file.size()) {
    fail(ErrorCode::InvalidFile, "{}: {} x {} pixels from {} bytes", name, width, height,
         file.size());
  }
  const bool inks =
      decompress.jpeg_color_space == JCS_CMYK || decompress.jpeg_color_space == JCS_YCCK;
  if (inks && cmyk == Cmyk::Reject) {
    fail(ErrorCode::Unsupported, "{}: the colors are CMYK, gray and RGB are read", name);
  }
  const bool gray = decompress.jpeg_color_space == JCS_GRAYSCALE;
  decompress.out_color_space = gray ? JCS_GRAYSCALE : inks ? JCS_CMYK : JCS_RGB;
  Picture picture{width, height, gray ? 1 : inks ? 4 : 3, {}};
  const auto row_bytes = static_cast<size_t>(width * picture.channels);
  picture.pixels.resize(row_bytes * static_cast<size_t>(height));
  check(read_pixels(reader, picture.pixels.data(), row_bytes));
  if (inks) convert_inks(picture);
  return picture;
}

namespace {

struct Writer {
  jpeg_compress_struct compress;
  jpeg_error_mgr errors;
  std::jmp_buf failed;
  std::array<char, JMSG_LENGTH_MAX> message;
  unsigned char* data;
  unsigned long size;
};

[[noreturn]] void leave_writer(j_common_ptr common) {
  auto* writer = static_cast<Writer*>(common->client_data);
  common->err->format_message(common, writer->message.data());
  std::longjmp(writer->failed, 1);
}

bool write_pixels(Writer& writer, const Picture& picture) {
  constexpr int kQuality = 95;
  if (setjmp(writer.failed) != 0) return false;
  jpeg_create_compress(&writer.compress);
  writer.compress.client_data = &writer;
  jpeg_mem_dest(&writer.compress, &writer.data, &writer.size);
  writer.compress.image_width = static_cast<JDIMENSION>(picture.width);
  writer.compress.image_height = static_cast<JDIMENSION>(picture.height);
  writer.compress.input_components = picture.channels;
  writer.compress.in_color_space = picture.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&writer.compress);
  jpeg_set_quality(&writer.compress, kQuality, TRUE);
  jpeg_start_compress(&writer.compress, TRUE);
  const auto row_bytes = static_cast<size_t>(picture.width * picture.channels);
  while (writer.compress.next_scanline < writer.compress.image_height) {
    JSAMPROW row =
        const_cast<uint8_t*>(picture.pixels.data()) + row_bytes * writer.compress.next_scanline;
    jpeg_write_scanlines(&writer.compress, &row, 1);
  }
  jpeg_finish_compress(&writer.compress);
  return true;
}

struct OwnedWriter : Writer {
  OwnedWriter() : Writer{} {
    compress.err = jpeg_std_error(&errors);
    compress.client_data = static_cast<Writer*>(this);
    errors.error_exit = leave_writer;
  }
  OwnedWriter(const OwnedWriter&) = delete;
  OwnedWriter& operator=(const OwnedWriter&) = delete;
  ~OwnedWriter() {
    jpeg_destroy_compress(&compress);
    std::free(data);
  }
};

}  // namespace

std::string format_jpeg(const Picture& picture) {
  OwnedWriter writer;
  if (!write_pixels(writer, picture)) {
    fail(ErrorCode::InvalidArgument, "a JPEG of {} x {} pixels: {}", picture.width, picture.height,
         writer.message.data());
  }
  return std::string(reinterpret_cast<const char*>(writer.data), writer.size);
}

}  // namespace pippin
