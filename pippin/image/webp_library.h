// The functions of libwebp and libwebpdemux, which are loaded on first use.
#pragma once

#include <webp/decode.h>
#include <webp/demux.h>

namespace pippin::image {

struct Webp {
  decltype(&WebPGetFeaturesInternal) get_features;
  decltype(&WebPDecodeRGBInto) decode_rgb;
  decltype(&WebPDecodeRGBAInto) decode_rgba;
};
// For animations.
struct WebpDemux {
  decltype(&WebPAnimDecoderOptionsInitInternal) init_options;
  decltype(&WebPAnimDecoderNewInternal) create;
  decltype(&WebPAnimDecoderGetInfo) get_info;
  decltype(&WebPAnimDecoderHasMoreFrames) has_more;
  decltype(&WebPAnimDecoderGetNext) get_next;
  decltype(&WebPAnimDecoderDelete) destroy;
};

// Throw Unsupported if the library cannot be loaded.
const Webp& libwebp();
const WebpDemux& libwebpdemux();

}  // namespace pippin::image
