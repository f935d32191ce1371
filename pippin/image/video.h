// A video as frames: an animated GIF, PNG or WebP, or one file per frame. Video codecs are not
// supported.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "pippin/image/model_picture.h"

namespace pippin::image {

inline constexpr int64_t kMostVideoFrames = 4096;

// Frames of one size.
struct Video {
  std::vector<Picture> frames;
  double fps = 0;  // frames per second, on average; 0: not known
};

// Throws the errors of parse_model_frames(), and InvalidFile for a file with one frame.
Video parse_video(ByteSpan file, const std::string& name,
                  const PictureLimits& limits = kModelPictureLimits);
// The same of files with one picture each. Throws InvalidArgument for frames of several sizes, and
// LimitExceeded. The limit is for the pixels of all frames.
Video parse_video_frames(std::span<const ByteSpan> files, const std::string& name,
                         const PictureLimits& limits = kModelPictureLimits);

}  // namespace pippin::image
