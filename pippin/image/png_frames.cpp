// Animated PNGs: each frame is decoded as a PNG of its own and drawn on the canvas. (The APNG
// specification, which is part of PNG's third edition.)
#include <algorithm>
#include <optional>

#include "pippin/base/bytes.h"
#include "pippin/base/error.h"
#include "pippin/image/picture_frames.h"
#include "pippin/image/png_chunks.h"

namespace pippin::image {
namespace {

struct FrameControl {
  int64_t width = 0, height = 0, left = 0, top = 0;
  uint32_t dispose = 0, blend = 0;
  double seconds = 0;
};

// A frame and its compressed pixels.
struct PngFrame {
  FrameControl control;
  std::string pixels;
};

struct Animation {
  std::string shared;  // chunks before the pixels: the palette, transparency
  ByteSpan header;     // the body of IHDR
  std::vector<PngFrame> frames;
};

FrameControl read_control(ByteSpan body, const std::string& name) {
  constexpr size_t kSize = 26;
  if (body.size() != kSize) {
    fail(ErrorCode::InvalidFile, "{}: a frame control of {} bytes, expected {}", name, body.size(),
         kSize);
  }
  const uint32_t divisor = png_number(body, 22, 2);
  const double seconds =
      png_number(body, 20, 2) / (divisor == 0 ? 100.0 : static_cast<double>(divisor));
  return {png_number(body, 4),
          png_number(body, 8),
          png_number(body, 12),
          png_number(body, 16),
          png_number(body, 24, 1),
          png_number(body, 25, 1),
          seconds};
}

// Returns nothing for a PNG without an animation.
std::optional<Animation> read_animation(ByteSpan file, const std::string& name, size_t most) {
  PngChunks chunks(file);
  Animation animation;
  bool animated = false, in_pixels = false;
  while (const auto chunk = chunks.next()) {
    if (chunk->type == "IHDR") {
      animation.header = chunk->body;
    } else if (chunk->type == "acTL") {
      animated = true;
    } else if (chunk->type == "fcTL") {
      if (animation.frames.size() == most) break;
      animation.frames.push_back({read_control(chunk->body, name), {}});
    } else if (chunk->type == "IDAT") {
      in_pixels = true;
      // Without a frame control before it, the still picture is not a frame.
      if (!animation.frames.empty()) animation.frames.back().pixels += as_text(chunk->body);
    } else if (chunk->type == "fdAT") {
      if (animation.frames.empty() || chunk->body.size() < 4) {
        fail(ErrorCode::InvalidFile, "{}: pixels of a frame without a frame control", name);
      }
      animation.frames.back().pixels += as_text(chunk->body.subspan(4));
    } else if (!in_pixels && (chunk->type == "PLTE" || chunk->type == "tRNS")) {
      animation.shared += as_text(chunk->whole);
    }
  }
  if (!animated || animation.frames.empty() || animation.header.size() != 13) return std::nullopt;
  return animation;
}

std::string as_png(const Animation& animation, const PngFrame& frame) {
  std::string header(as_text(animation.header));
  for (size_t i = 0; i < 4; ++i) {
    header[i] = static_cast<char>(frame.control.width >> (24 - 8 * i));
    header[4 + i] = static_cast<char>(frame.control.height >> (24 - 8 * i));
  }
  std::string file = "\x89PNG\r\n\x1a\n";
  append_png_chunk(file, "IHDR", header);
  file += animation.shared;
  append_png_chunk(file, "IDAT", frame.pixels);
  append_png_chunk(file, "IEND", "");
  return file;
}

// Draws the frame on a canvas of red, green, blue and alpha; `over`: by its alpha.
void draw_frame(const Picture& frame, const FrameControl& control, bool over, Picture& canvas) {
  const auto channels = static_cast<size_t>(frame.channels);
  for (int64_t y = 0; y < frame.height; ++y) {
    for (int64_t x = 0; x < frame.width; ++x) {
      const uint8_t* from =
          frame.pixels.data() + static_cast<size_t>(y * frame.width + x) * channels;
      uint8_t* to =
          canvas.pixels.data() + ((control.top + y) * canvas.width + control.left + x) * 4;
      const uint32_t alpha = channels == 4 ? from[3] : 255;
      const uint32_t below = over ? to[3] * (255 - alpha) / 255 : 0;
      const uint32_t sum = alpha + below;
      for (size_t channel = 0; channel < 3; ++channel) {
        const uint32_t value = from[channels == 1 ? 0 : channel];
        to[channel] =
            sum == 0 ? static_cast<uint8_t>(value)
                     : static_cast<uint8_t>((value * alpha + to[channel] * below + sum / 2) / sum);
      }
      to[3] = static_cast<uint8_t>(sum);
    }
  }
}

void clear_frame(const FrameControl& control, Picture& canvas) {
  for (int64_t y = control.top; y < control.top + control.height; ++y) {
    std::fill_n(canvas.pixels.begin() + (y * canvas.width + control.left) * 4, control.width * 4,
                uint8_t{0});
  }
}

}  // namespace

std::vector<Picture> parse_png_frames(ByteSpan file, const std::string& name,
                                      const PictureLimits& limits, size_t most) {
  const auto animation = most > 1 ? read_animation(file, name, most) : std::nullopt;
  std::vector<Picture> frames;
  if (!animation) {
    frames.push_back(parse_png_pixels(file, name, limits));
    return frames;
  }
  Picture canvas{png_number(animation->header, 0), png_number(animation->header, 4), 4, {}};
  check_frames(canvas.width, canvas.height, animation->frames.size() + 1, name, limits);
  canvas.pixels.resize(static_cast<size_t>(canvas.width * canvas.height) * 4);
  frames.reserve(animation->frames.size());
  for (const PngFrame& frame : animation->frames) {
    const FrameControl& control = frame.control;
    if (control.left > canvas.width || control.top > canvas.height ||
        control.width > canvas.width - control.left ||
        control.height > canvas.height - control.top) {
      fail(ErrorCode::InvalidFile, "{}: a frame of {} x {} pixels at ({}, {}) of {} x {}", name,
           control.width, control.height, control.left, control.top, canvas.width, canvas.height);
    }
    const std::string own_file = as_png(*animation, frame);
    const Picture pixels = parse_png_pixels(as_byte_span(own_file), name, limits);
    constexpr uint32_t kClear = 1, kRestore = 2;
    const Picture before = control.dispose == kRestore ? canvas : Picture{};
    draw_frame(pixels, control, control.blend == 1, canvas);
    frames.push_back(canvas);
    frames.back().seconds = control.seconds;
    // Before the first frame the canvas was clear.
    if (control.dispose == kClear || (control.dispose == kRestore && frames.size() == 1)) {
      clear_frame(control, canvas);
    } else if (control.dispose == kRestore) {
      canvas = before;
    }
  }
  return frames;
}

}  // namespace pippin::image
