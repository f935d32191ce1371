#include "pippin/image/picture.h"

#include <algorithm>

#include <png.h>

#include "pippin/base/error.h"
#include "pippin/base/files/mapped_file.h"
#include "pippin/image/picture_formats.h"

namespace pippin {
namespace {

// libpng's simplified interface; frees the image on destruction.
struct Png {
  Png() { image.version = PNG_IMAGE_VERSION; }
  Png(const Png&) = delete;
  Png& operator=(const Png&) = delete;
  ~Png() { png_image_free(&image); }

  png_image image = {};
};

Picture parse_png(ByteSpan file, const std::string& name, const PictureLimits& limits) {
  Png png;
  const auto check = [&](int done) {
    if (done == 0) fail(ErrorCode::InvalidFile, "{}: {}", name, png.image.message);
  };
  check(png_image_begin_read_from_memory(&png.image, file.data(), file.size()));
  const int64_t width = png.image.width, height = png.image.height;
  check_png_size(width, height, file.size(), name, limits);
  if ((png.image.format & PNG_FORMAT_FLAG_LINEAR) != 0) {
    fail(ErrorCode::Unsupported, "{}: 16 bits a channel, 8 are read", name);
  }
  const bool color = (png.image.format & PNG_FORMAT_FLAG_COLOR) != 0;
  png.image.format = color ? PNG_FORMAT_RGBA : PNG_FORMAT_GA;
  const size_t with_alpha = color ? 4 : 2;
  std::vector<uint8_t> raw(static_cast<size_t>(width * height) * with_alpha);
  check(png_image_finish_read(&png.image, nullptr, raw.data(), 0, nullptr));

  Picture picture{width, height, color ? 3 : 1, {}};
  const auto channels = static_cast<size_t>(picture.channels);
  picture.pixels.reserve(raw.size() / with_alpha * channels);
  for (size_t i = 0; i < raw.size(); i += with_alpha) {
    if (raw[i + channels] != 255) {
      const auto pixel = static_cast<int64_t>(i / with_alpha);
      fail(ErrorCode::Unsupported, "{}: the pixel in column {}, row {} is transparent", name,
           pixel % width, pixel / width);
    }
    picture.pixels.insert(picture.pixels.end(), raw.begin() + static_cast<ptrdiff_t>(i),
                          raw.begin() + static_cast<ptrdiff_t>(i + channels));
  }
  return picture;
}

// "P6 width height 255", separated by spaces and comments, then one space and the pixels.
class NetpbmReader {
 public:
  NetpbmReader(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  Picture read(const PictureLimits& limits) {
    Picture picture;
    picture.channels = text_[1] == '6' ? 3 : 1;
    position_ = 2;
    picture.width = number();
    picture.height = number();
    const int64_t largest = number();
    check_picture_size(picture.width, picture.height, name_, limits);
    if (largest != 255) {
      fail(ErrorCode::Unsupported, "{}: values up to {}, up to 255 are read", name_, largest);
    }
    if (position_ == text_.size() || !is_space(text_[position_])) broken("a space");
    const std::string_view pixels = text_.substr(position_ + 1);
    const auto needed = static_cast<size_t>(picture.width * picture.height * picture.channels);
    if (pixels.size() < needed) {
      fail(ErrorCode::InvalidFile, "{}: {} x {} pixels need {} bytes, the file has {}", name_,
           picture.width, picture.height, needed, pixels.size());
    }
    picture.pixels.assign(pixels.begin(), pixels.begin() + static_cast<ptrdiff_t>(needed));
    return picture;
  }

 private:
  static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
  [[noreturn]] void broken(const char* expected) const {
    fail(ErrorCode::InvalidFile, "{}: byte {}: expected {}", name_, position_, expected);
  }
  void skip_space() {
    while (position_ < text_.size()) {
      if (text_[position_] == '#') {
        position_ = std::min(text_.find('\n', position_), text_.size());
      } else if (is_space(text_[position_])) {
        ++position_;
      } else {
        return;
      }
    }
  }
  int64_t number() {
    skip_space();
    const size_t begin = position_;
    int64_t value = 0;
    for (; position_ < text_.size() && text_[position_] >= '0' && text_[position_] <= '9';
         ++position_) {
      if (position_ - begin == 9) broken("a number below 10^9");
      value = value * 10 + (text_[position_] - '0');
    }
    if (position_ == begin) broken("a number");
    return value;
  }

  std::string_view text_;
  const std::string& name_;
  size_t position_ = 0;
};

}  // namespace

void check_picture_size(int64_t width, int64_t height, const std::string& name,
                        const PictureLimits& limits) {
  if (width <= 0 || height <= 0) {
    fail(ErrorCode::InvalidFile, "{}: a picture of {} x {} pixels", name, width, height);
  }
  if (width > limits.max_pixels / height) {
    fail(ErrorCode::LimitExceeded, "{}: {} x {} pixels, at most {} are read", name, width, height,
         limits.max_pixels);
  }
}

void check_png_size(int64_t width, int64_t height, size_t file_size, const std::string& name,
                    const PictureLimits& limits) {
  check_picture_size(width, height, name, limits);
  // A pixel takes at least one bit, and deflate compresses at most 1032 to 1.
  if (static_cast<uint64_t>(width * height) / 8 / 1032 > file_size) {
    fail(ErrorCode::InvalidFile, "{}: {} x {} pixels from {} bytes", name, width, height,
         file_size);
  }
}

Picture parse_picture(ByteSpan file, const std::string& name, const PictureLimits& limits) {
  const std::string_view text = as_text(file);
  if (text.starts_with("\x89PNG\r\n\x1a\n")) return parse_png(file, name, limits);
  if (text.starts_with("P5") || text.starts_with("P6")) {
    return NetpbmReader(text, name).read(limits);
  }
  if (text.starts_with("\xff\xd8\xff")) return parse_jpeg(file, name, limits);
  if (text.starts_with("BM")) return parse_bmp(file, name, limits);
  fail(ErrorCode::InvalidFile, "{}: neither PNG, JPEG, BMP nor binary PPM or PGM", name);
}

Picture read_picture(const std::filesystem::path& path, const PictureLimits& limits) {
  return parse_picture(MappedFile::open(path)->bytes(), path.filename().string(), limits);
}

}  // namespace pippin
