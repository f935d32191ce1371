#include "pippin/image/webp_library.h"

#include "pippin/base/loaded_library.h"

namespace pippin::image {
namespace {

Webp load_webp() {
  const LoadedLibrary library("webp", 7, "WebP pictures need libwebp (Debian's package libwebp7)");
  Webp functions{};
  library.find("WebPGetFeaturesInternal", functions.get_features);
  library.find("WebPDecodeRGBInto", functions.decode_rgb);
  library.find("WebPDecodeRGBAInto", functions.decode_rgba);
  return functions;
}

WebpDemux load_webpdemux() {
  const LoadedLibrary library(
      "webpdemux", 2, "animated WebP pictures need libwebpdemux (Debian's package libwebpdemux2)");
  WebpDemux functions{};
  library.find("WebPAnimDecoderOptionsInitInternal", functions.init_options);
  library.find("WebPAnimDecoderNewInternal", functions.create);
  library.find("WebPAnimDecoderGetInfo", functions.get_info);
  library.find("WebPAnimDecoderHasMoreFrames", functions.has_more);
  library.find("WebPAnimDecoderGetNext", functions.get_next);
  library.find("WebPAnimDecoderDelete", functions.destroy);
  return functions;
}

}  // namespace

const Webp& libwebp() {
  static const Webp functions = load_webp();
  return functions;
}

const WebpDemux& libwebpdemux() {
  static const WebpDemux functions = load_webpdemux();
  return functions;
}

}  // namespace pippin::image
