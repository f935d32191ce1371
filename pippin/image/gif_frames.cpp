// GIF through giflib, record by record, so that sizes are checked before memory is allocated.
#include <algorithm>
#include <array>
#include <cstring>

#include "pippin/base/error.h"
#include "pippin/image/gif_library.h"
#include "pippin/image/picture_formats.h"
#include "pippin/image/picture_frames.h"

namespace pippin::image {
namespace {

struct GifSource {
  const std::byte* next;
  size_t left;
};

int take_gif_bytes(GifFileType* file, GifByteType* to, int size) {
  auto* source = static_cast<GifSource*>(file->UserData);
  const size_t count = std::min(source->left, static_cast<size_t>(size));
  std::memcpy(to, source->next, count);
  source->next += count;
  source->left -= count;
  return static_cast<int>(count);
}

class GifReader {
 public:
  GifReader(ByteSpan file, const std::string& name, const PictureLimits& limits)
      : name_(name), limits_(limits), source_{file.data(), file.size()} {
    int error = 0;
    file_ = gif_.open(&source_, take_gif_bytes, &error);
    if (file_ == nullptr) damaged(error);
  }
  GifReader(const GifReader&) = delete;
  GifReader& operator=(const GifReader&) = delete;
  ~GifReader() {
    int error = 0;
    gif_.close(file_, &error);
  }

  std::vector<Picture> read(size_t most) {
    canvas_ = {file_->SWidth, file_->SHeight, 4, {}};
    check_frames(canvas_.width, canvas_.height, 2, name_, limits_);
    canvas_.pixels.resize(static_cast<size_t>(canvas_.width * canvas_.height) * 4);
    std::vector<Picture> frames;
    while (frames.size() < most) {
      GifRecordType type = UNDEFINED_RECORD_TYPE;
      check(gif_.get_record_type(file_, &type));
      if (type == TERMINATE_RECORD_TYPE) break;
      if (type == EXTENSION_RECORD_TYPE) {
        read_extension();
      } else if (type == IMAGE_DESC_RECORD_TYPE) {
        check_frames(canvas_.width, canvas_.height, frames.size() + 3, name_, limits_);
        read_frame(frames.empty());
        frames.push_back(canvas_);
        frames.back().seconds = seconds_;
        dispose();
      }
    }
    if (frames.empty()) fail(ErrorCode::InvalidFile, "{}: the file has no frame", name_);
    if (opaque_) {
      for (Picture& frame : frames) drop_alpha(frame);
    }
    return frames;
  }

 private:
  using GifPixel = std::array<uint8_t, 4>;
  struct Place {
    int64_t left = 0, top = 0, width = 0, height = 0;
  };

  [[noreturn]] void damaged(int error) const {
    const char* message = gif_.error_string(error);
    fail(ErrorCode::InvalidFile, "{}: {}", name_, message == nullptr ? "damaged" : message);
  }
  void check(int result) const {
    if (result != GIF_OK) damaged(file_->Error);
  }

  // The control of the next frame: its transparent color, its disposal and its time.
  void read_extension() {
    int code = 0;
    GifByteType* block = nullptr;
    check(gif_.get_extension(file_, &code, &block));
    constexpr int kControl = 0xf9, kControlSize = 4;
    while (block != nullptr) {
      // The first byte is the size of the block.
      if (code == kControl && block[0] == kControlSize) {
        disposal_ = block[1] >> 2 & 7;
        seconds_ = (block[2] | block[3] << 8) / 100.0;
        transparent_ = (block[1] & 1) != 0 ? block[4] : -1;
      }
      check(gif_.get_extension_next(file_, &block));
    }
  }

  GifPixel color_of(int index) const {
    const ColorMapObject* map =
        file_->Image.ColorMap != nullptr ? file_->Image.ColorMap : file_->SColorMap;
    GifPixel color{0, 0, 0, 255};
    if (map == nullptr) {
      color = {static_cast<uint8_t>(index), static_cast<uint8_t>(index),
               static_cast<uint8_t>(index), 255};
    } else if (index < map->ColorCount) {
      const GifColorType& entry = map->Colors[index];
      color = {entry.Red, entry.Green, entry.Blue, 255};
    }
    if (index == transparent_) color[3] = 0;
    return color;
  }

  void read_frame(bool first) {
    check(gif_.get_image_desc(file_));
    const GifImageDesc& image = file_->Image;
    place_ = {image.Left, image.Top, image.Width, image.Height};
    if (place_.left < 0 || place_.top < 0 || place_.width <= 0 || place_.height <= 0 ||
        place_.width > canvas_.width - place_.left || place_.height > canvas_.height - place_.top) {
      fail(ErrorCode::InvalidFile, "{}: a frame of {} x {} pixels at ({}, {}) of {} x {}", name_,
           place_.width, place_.height, place_.left, place_.top, canvas_.width, canvas_.height);
    }
    if (transparent_ >= 0) opaque_ = false;
    clear_color_ =
        transparent_ >= 0 ? color_of(transparent_) : color_of(first ? 0 : file_->SBackGroundColor);
    if (first) fill({0, 0, canvas_.width, canvas_.height}, clear_color_);
    constexpr int kRestore = 3;
    before_ = disposal_ == kRestore ? canvas_ : Picture{};
    std::vector<GifPixelType> line(static_cast<size_t>(place_.width));
    // Interlaced rows come in four passes.
    struct Pass {
      int64_t start, step;
    };
    constexpr std::array<Pass, 4> kPasses = {{{0, 8}, {4, 8}, {2, 4}, {1, 2}}};
    const size_t num_passes = image.Interlace ? kPasses.size() : 1;
    for (size_t pass = 0; pass < num_passes; ++pass) {
      const Pass rows = image.Interlace ? kPasses.at(pass) : Pass{0, 1};
      for (int64_t y = rows.start; y < place_.height; y += rows.step) {
        check(gif_.get_line(file_, line.data(), static_cast<int>(line.size())));
        draw_line(line, y, first);
      }
    }
  }

  void draw_line(const std::vector<GifPixelType>& line, int64_t y, bool first) {
    auto to = canvas_.pixels.begin() + ((place_.top + y) * canvas_.width + place_.left) * 4;
    for (const GifPixelType index : line) {
      const GifPixel color = color_of(index);
      // Later frames leave the pixels under their transparent ones.
      if (first || color[3] != 0) std::copy(color.begin(), color.end(), to);
      to += 4;
    }
  }

  void fill(const Place& place, const GifPixel& color) {
    for (int64_t y = place.top; y < place.top + place.height; ++y) {
      for (int64_t x = place.left; x < place.left + place.width; ++x) {
        std::copy(color.begin(), color.end(), canvas_.pixels.begin() + (y * canvas_.width + x) * 4);
      }
    }
  }

  void dispose() {
    constexpr int kClear = 2;
    if (disposal_ == kClear) fill(place_, clear_color_);
    if (!before_.pixels.empty()) canvas_ = before_;
    disposal_ = 0;
    seconds_ = 0;
    transparent_ = -1;
  }

  static void drop_alpha(Picture& frame) {
    size_t to = 0;
    for (size_t from = 0; from < frame.pixels.size(); from += 4, to += 3) {
      std::copy_n(frame.pixels.begin() + static_cast<ptrdiff_t>(from), 3,
                  frame.pixels.begin() + static_cast<ptrdiff_t>(to));
    }
    frame.pixels.resize(to);
    frame.channels = 3;
  }

  const Giflib& gif_ = giflib();
  const std::string& name_;
  PictureLimits limits_;
  GifSource source_;
  GifFileType* file_ = nullptr;
  Picture canvas_, before_;
  Place place_;
  GifPixel clear_color_{};
  int disposal_ = 0, transparent_ = -1;
  double seconds_ = 0;
  bool opaque_ = true;
};

}  // namespace

std::vector<Picture> parse_gif_frames(ByteSpan file, const std::string& name,
                                      const PictureLimits& limits, size_t most) {
  return GifReader(file, name, limits).read(most);
}

}  // namespace pippin::image
