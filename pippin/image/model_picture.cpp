#include "pippin/image/model_picture.h"

#include <string_view>

#include "pippin/base/bytes.h"
#include "pippin/base/error.h"
#include "pippin/image/orientation.h"
#include "pippin/image/picture_formats.h"
#include "pippin/image/picture_frames.h"

namespace pippin::image {
namespace {

// The box of an ISO file's type, with a brand of HEIF.
bool is_heif(std::string_view text) {
  if (text.size() < 12 || text.substr(4, 4) != "ftyp") return false;
  const std::string_view brand = text.substr(8, 4);
  for (std::string_view known : {"heic", "heix", "heim", "heis", "mif1", "msf1", "avif"}) {
    if (brand == known) return true;
  }
  return false;
}

std::vector<Picture> parse_frames(ByteSpan file, const std::string& name,
                                  const PictureLimits& limits, size_t most) {
  const std::string_view text = as_text(file);
  std::vector<Picture> frames;
  int orientation = 1;
  if (text.starts_with("\x89PNG\r\n\x1a\n")) {
    frames = parse_png_frames(file, name, limits, most);
    orientation = png_orientation(file);
  } else if (text.starts_with("\xff\xd8\xff")) {
    frames.push_back(parse_jpeg(file, name, limits, Cmyk::Convert));
    orientation = jpeg_orientation(file);
  } else if (text.starts_with("GIF87a") || text.starts_with("GIF89a")) {
    frames = parse_gif_frames(file, name, limits, most);
  } else if (text.starts_with("RIFF") && text.size() >= 12 && text.substr(8, 4) == "WEBP") {
    frames = parse_webp_frames(file, name, limits, most);
    orientation = webp_orientation(file);
  } else if (text.starts_with("BM") || text.starts_with("P5") || text.starts_with("P6")) {
    frames.push_back(parse_picture(file, name, limits));
  } else if (is_heif(text)) {
    frames.push_back(parse_heif(file, name, limits));
  } else {
    fail(ErrorCode::InvalidFile,
         "{}: not a picture (supported: PNG, JPEG, WebP, GIF, HEIC, BMP, binary PPM and PGM)",
         name);
  }
  for (Picture& frame : frames) {
    const double seconds = frame.seconds;
    frame = upright(std::move(frame), orientation);
    frame.seconds = seconds;
  }
  return frames;
}

}  // namespace

void check_frames(int64_t width, int64_t height, size_t frames, const std::string& name,
                  const PictureLimits& limits) {
  check_picture_size(width, height, name, limits);
  if (frames > static_cast<size_t>(limits.max_pixels / (width * height))) {
    fail(ErrorCode::LimitExceeded, "{}: {} frames of {} x {} pixels, at most {} pixels are read",
         name, frames, width, height, limits.max_pixels);
  }
}

Picture parse_model_picture(ByteSpan file, const std::string& name, const PictureLimits& limits) {
  return std::move(parse_frames(file, name, limits, 1).at(0));
}

std::vector<Picture> parse_model_frames(ByteSpan file, const std::string& name,
                                        const PictureLimits& limits) {
  return parse_frames(file, name, limits, kMostFrames);
}

}  // namespace pippin::image
