// WebP through libwebp.
#include <memory>
#include <utility>

#include "pippin/base/error.h"
#include "pippin/image/picture_formats.h"
#include "pippin/image/picture_frames.h"
#include "pippin/image/webp_library.h"

namespace pippin::image {
namespace {

std::vector<Picture> parse_animation(ByteSpan file, const std::string& name,
                                     const PictureLimits& limits, size_t most) {
  const WebpDemux& demux = libwebpdemux();
  WebPAnimDecoderOptions options;
  if (demux.init_options(&options, WEBP_DEMUX_ABI_VERSION) == 0) {
    fail(ErrorCode::Unsupported, "{}: libwebpdemux has another version", name);
  }
  options.color_mode = MODE_RGBA;
  const WebPData data{reinterpret_cast<const uint8_t*>(file.data()), file.size()};
  const std::unique_ptr<WebPAnimDecoder, void (*)(WebPAnimDecoder*)> decoder(
      demux.create(&data, &options, WEBP_DEMUX_ABI_VERSION), demux.destroy);
  WebPAnimInfo info;
  if (decoder == nullptr || demux.get_info(decoder.get(), &info) == 0) {
    fail(ErrorCode::InvalidFile, "{}: the animation is damaged", name);
  }
  const size_t count = std::min<size_t>(info.frame_count, most);
  check_frames(info.canvas_width, info.canvas_height, count, name, limits);
  std::vector<Picture> frames;
  frames.reserve(count);
  int before = 0;  // milliseconds
  while (frames.size() < count && demux.has_more(decoder.get()) != 0) {
    uint8_t* pixels = nullptr;
    int time = 0;
    if (demux.get_next(decoder.get(), &pixels, &time) == 0) {
      fail(ErrorCode::InvalidFile, "{}: frame {} is damaged", name, frames.size());
    }
    const size_t size = size_t{info.canvas_width} * info.canvas_height * 4;
    frames.push_back({info.canvas_width, info.canvas_height, 4, {pixels, pixels + size}});
    frames.back().seconds = (time - std::exchange(before, time)) / 1000.0;
  }
  if (frames.empty()) fail(ErrorCode::InvalidFile, "{}: the animation has no frame", name);
  return frames;
}

}  // namespace

std::vector<Picture> parse_webp_frames(ByteSpan file, const std::string& name,
                                       const PictureLimits& limits, size_t most) {
  const Webp& webp = libwebp();
  const auto* data = reinterpret_cast<const uint8_t*>(file.data());
  WebPBitstreamFeatures features;
  const VP8StatusCode status =
      webp.get_features(data, file.size(), &features, WEBP_DECODER_ABI_VERSION);
  if (status != VP8_STATUS_OK) {
    fail(ErrorCode::InvalidFile, "{}: damaged (libwebp's status {})", name,
         static_cast<int>(status));
  }
  // The decoder of animations allocates two canvases.
  check_frames(features.width, features.height, features.has_animation != 0 ? 2 : 1, name, limits);
  if (features.has_animation != 0) return parse_animation(file, name, limits, most);
  Picture picture{features.width, features.height, features.has_alpha != 0 ? 4 : 3, {}};
  const auto stride = static_cast<size_t>(picture.width * picture.channels);
  picture.pixels.resize(stride * static_cast<size_t>(picture.height));
  const auto decode = picture.channels == 4 ? webp.decode_rgba : webp.decode_rgb;
  if (decode(data, file.size(), picture.pixels.data(), picture.pixels.size(),
             static_cast<int>(stride)) == nullptr) {
    fail(ErrorCode::InvalidFile, "{}: the pixels are damaged or incomplete", name);
  }
  std::vector<Picture> frames;
  frames.push_back(std::move(picture));
  return frames;
}

}  // namespace pippin::image
