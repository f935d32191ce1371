#include "pippin/base/error.h"
#include "pippin/image/model_picture.h"
#include "pippin/image/orientation.h"

// Frames of the size that they state, or one error; metadata never fails.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pippin;
  const ByteSpan file = std::as_bytes(std::span(data, size));
  image::exif_orientation(file);
  try {
    for (const Picture& frame : image::parse_model_frames(file, "x", {1 << 16})) {
      const auto pixels = static_cast<size_t>(frame.width * frame.height * frame.channels);
      if (frame.pixels.size() != pixels) __builtin_trap();
    }
  } catch (const Error&) {
  }
  return 0;
}
