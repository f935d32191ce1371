// Pictures as models see them: read like Pillow with transformers' load_image().
//
// In addition to the formats of picture.h: WebP, GIF and HEIC, through libraries that are loaded on
// first use. Transparent pixels keep their alpha. 16-bit channels keep the high byte. CMYK becomes
// RGB without a profile, and other color profiles and gammas are ignored. The EXIF orientation is
// applied.
#pragma once

#include <string>
#include <vector>

#include "pippin/image/picture.h"

namespace pippin::image {

inline constexpr PictureLimits kModelPictureLimits{.max_pixels = int64_t{1} << 27};

// Returns a picture of 1 channel (gray), 3 (red, green, blue) or 4 (with alpha); the first frame of
// an animation. `name` starts error messages. Throws InvalidFile, LimitExceeded before pixels are
// decoded, and Unsupported if the library for the format cannot be loaded.
Picture parse_model_picture(ByteSpan file, const std::string& name,
                            const PictureLimits& limits = kModelPictureLimits);

// Returns the frames of an animated GIF, PNG or WebP, each as it is shown, or one picture. The
// limit is for the pixels of all frames.
std::vector<Picture> parse_model_frames(ByteSpan file, const std::string& name,
                                        const PictureLimits& limits = kModelPictureLimits);

}  // namespace pippin::image
