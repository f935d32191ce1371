// Uncompressed Windows bitmaps: 1, 4 and 8 bits with a palette, 16 to 32 bits with masks, rows
// bottom-up or top-down. (Microsoft's documentation of BITMAPINFOHEADER to BITMAPV5HEADER.)
#include <algorithm>
#include <array>
#include <bit>

#include "pippin/base/bytes.h"
#include "pippin/base/error.h"
#include "pippin/base/numbers/checked.h"
#include "pippin/image/picture_formats.h"

namespace pippin {
namespace {

using Color = std::array<uint8_t, 3>;

// One channel of a pixel of 16 or 32 bits, scaled to 8 bits.
struct Channel {
  uint32_t mask = 0;

  uint8_t of(uint32_t pixel) const {
    if (mask == 0) return 0;
    const uint64_t largest = mask >> std::countr_zero(mask);
    const uint64_t value = (pixel & mask) >> std::countr_zero(mask);
    return static_cast<uint8_t>((value * 255 + largest / 2) / largest);
  }
  bool is_contiguous() const {
    const uint32_t low = mask == 0 ? 0 : mask >> std::countr_zero(mask);
    return (low & (low + 1)) == 0;
  }
};

class BmpReader {
 public:
  BmpReader(ByteSpan file, const std::string& name) : file_(file), name_(name) {}

  Picture read(const PictureLimits& limits) {
    read_headers();
    check_picture_size(width_, height_, name_, limits);
    if (bits_ <= 8) read_palette();
    const int64_t stride = (width_ * bits_ + 31) / 32 * 4;
    const uint64_t needed = static_cast<uint64_t>(stride) * static_cast<uint64_t>(height_);
    if (pixels_at_ > file_.size() || needed > file_.size() - pixels_at_) {
      fail(ErrorCode::InvalidFile, "{}: {} x {} pixels at byte {} need {} bytes, the file has {}",
           name_, width_, height_, pixels_at_, needed, file_.size());
    }
    const bool gray = bits_ <= 8 && std::all_of(palette_.begin(), palette_.end(), [](Color color) {
                        return color[0] == color[1] && color[1] == color[2];
                      });
    Picture picture{width_, height_, gray ? 1 : 3, {}};
    picture.pixels.reserve(static_cast<size_t>(width_ * height_ * picture.channels));
    for (int64_t y = 0; y < height_; ++y) {
      const int64_t row = from_top_ ? y : height_ - 1 - y;
      const ByteSpan bytes = file_.subspan(pixels_at_ + static_cast<size_t>(row * stride));
      for (int64_t x = 0; x < width_; ++x) {
        const Color color = bits_ <= 8 ? indexed(bytes, x, y) : direct(bytes, x, y);
        picture.pixels.insert(picture.pixels.end(), color.begin(),
                              color.begin() + picture.channels);
      }
    }
    return picture;
  }

 private:
  uint32_t number(size_t at, size_t bytes) const {
    if (at > file_.size() || bytes > file_.size() - at) {
      fail(ErrorCode::InvalidFile, "{}: the header needs {} bytes, the file has {}", name_,
           at + bytes, file_.size());
    }
    uint32_t value = 0;
    for (size_t i = 0; i < bytes; ++i) {
      value |= std::to_integer<uint32_t>(file_[at + i]) << (8 * i);
    }
    return value;
  }
  int64_t signed_number(size_t at) const { return static_cast<int32_t>(number(at, 4)); }

  void read_headers() {
    pixels_at_ = number(10, 4);
    header_ = number(14, 4);
    if (header_ == 12) {  // OS/2 1.x
      width_ = number(18, 2);
      height_ = number(20, 2);
      bits_ = number(24, 2);
    } else if (header_ >= 40 && header_ <= 124) {
      width_ = signed_number(18);
      height_ = signed_number(22);
      bits_ = number(28, 2);
      compression_ = number(30, 4);
      num_colors_ = number(46, 4);
    } else {
      fail(ErrorCode::InvalidFile, "{}: a header of {} bytes, 12 and 40 to 124 are known", name_,
           header_);
    }
    from_top_ = height_ < 0;
    height_ = from_top_ ? -height_ : height_;
    constexpr std::array kBits = {1, 4, 8, 16, 24, 32};
    if (std::find(kBits.begin(), kBits.end(), bits_) == kBits.end()) {
      fail(ErrorCode::InvalidFile, "{}: {} bits a pixel", name_, bits_);
    }
    constexpr uint32_t kPlain = 0, kMasks = 3, kMasksWithAlpha = 6;
    const bool masks = compression_ == kMasks || compression_ == kMasksWithAlpha;
    if (compression_ != kPlain && !masks) {
      fail(ErrorCode::Unsupported, "{}: compressed pixels (kind {}), plain ones are read", name_,
           compression_);
    }
    if (masks && bits_ != 16 && bits_ != 32) {
      fail(ErrorCode::InvalidFile, "{}: masks for pixels of {} bits", name_, bits_);
    }
    if (masks) {
      for (size_t i = 0; i < 3; ++i) channels_[i].mask = number(54 + 4 * i, 4);
      if (header_ >= 56 || compression_ == kMasksWithAlpha) alpha_.mask = number(66, 4);
    } else if (bits_ == 16) {
      channels_ = {Channel{0x7c00}, Channel{0x03e0}, Channel{0x001f}};
    } else {
      channels_ = {Channel{0xff0000}, Channel{0x00ff00}, Channel{0x0000ff}};
    }
    for (const Channel& channel : {channels_[0], channels_[1], channels_[2], alpha_}) {
      if (!channel.is_contiguous()) {
        fail(ErrorCode::InvalidFile, "{}: a mask of {:#010x} has gaps", name_, channel.mask);
      }
    }
  }

  void read_palette() {
    const size_t entry = header_ == 12 ? 3 : 4;
    const uint32_t most = 1U << bits_;
    const uint32_t count = num_colors_ == 0 ? most : num_colors_;
    if (count > most) {
      fail(ErrorCode::InvalidFile, "{}: {} colors for pixels of {} bits", name_, count, bits_);
    }
    for (size_t i = 0; i < count; ++i) {
      const uint32_t color = number(14 + header_ + entry * i, 3);
      palette_.push_back({static_cast<uint8_t>(color >> 16), static_cast<uint8_t>(color >> 8),
                          static_cast<uint8_t>(color)});
    }
  }

  Color indexed(ByteSpan row, int64_t x, int64_t y) const {
    const int64_t bit = x * bits_;
    const auto byte = std::to_integer<uint32_t>(row[static_cast<size_t>(bit / 8)]);
    const uint32_t index = byte >> (8 - bits_ - bit % 8) & ((1U << bits_) - 1);
    if (index >= palette_.size()) {
      fail(ErrorCode::InvalidFile, "{}: the pixel in column {}, row {} has color {} of {}", name_,
           x, y, index, palette_.size());
    }
    return palette_[index];
  }

  Color direct(ByteSpan row, int64_t x, int64_t y) const {
    uint32_t pixel = 0;
    const int64_t bytes = bits_ / 8;
    for (int64_t i = 0; i < bytes; ++i) {
      pixel |= std::to_integer<uint32_t>(row[static_cast<size_t>(x * bytes + i)]) << (8 * i);
    }
    if (alpha_.mask != 0 && alpha_.of(pixel) != 255) {
      fail(ErrorCode::Unsupported, "{}: the pixel in column {}, row {} is transparent", name_, x,
           y);
    }
    return {channels_[0].of(pixel), channels_[1].of(pixel), channels_[2].of(pixel)};
  }

  ByteSpan file_;
  const std::string& name_;
  int64_t width_ = 0, height_ = 0, bits_ = 0;
  bool from_top_ = false;
  uint32_t header_ = 0, compression_ = 0, num_colors_ = 0;
  size_t pixels_at_ = 0;
  std::array<Channel, 3> channels_;
  Channel alpha_;  // mask 0: none
  std::vector<Color> palette_;
};

}  // namespace

Picture parse_bmp(ByteSpan file, const std::string& name, const PictureLimits& limits) {
  return BmpReader(file, name).read(limits);
}

// 24 bits per pixel, bottom-up rows, which every program reads.
std::string format_bmp(const Picture& picture) {
  constexpr int64_t kHeaders = 14 + 40;
  const int64_t stride = (picture.width * 3 + 3) / 4 * 4;
  const int64_t size = kHeaders + stride * picture.height;
  if (size > UINT32_MAX) {
    fail(ErrorCode::InvalidArgument, "a BMP holds {} x {} pixels at most by its 32-bit size",
         picture.width, picture.height);
  }
  std::string file = "BM";
  const auto put = [&](int64_t number, int bytes) {
    for (int i = 0; i < bytes; ++i) file += static_cast<char>(number >> (8 * i));
  };
  put(size, 4);
  put(0, 4);
  put(kHeaders, 4);
  put(40, 4);
  put(picture.width, 4);
  put(picture.height, 4);
  put(1, 2);   // planes
  put(24, 2);  // bits
  put(0, 4);   // not compressed
  put(stride * picture.height, 4);
  put(2835, 4);  // pixels per meter: 72 per inch
  put(2835, 4);
  put(0, 8);  // number of palette colors
  const auto channels = static_cast<size_t>(picture.channels);
  for (int64_t y = picture.height - 1; y >= 0; --y) {
    const uint8_t* row = picture.pixels.data() + static_cast<size_t>(y * picture.width) * channels;
    for (int64_t x = 0; x < picture.width; ++x, row += channels) {
      for (size_t color = 3; color-- > 0;) {
        file += static_cast<char>(row[channels == 3 ? color : 0]);
      }
    }
    file.append(static_cast<size_t>(stride - picture.width * 3), '\0');
  }
  return file;
}

}  // namespace pippin
