#include "pippin/image/video.h"

#include <utility>

#include <fmt/format.h>

#include "pippin/base/error.h"

namespace pippin::image {

Video parse_video(ByteSpan file, const std::string& name, const PictureLimits& limits) {
  Video video{parse_model_frames(file, name, limits)};
  if (video.frames.size() == 1) {
    fail(ErrorCode::InvalidFile,
         "{}: one picture, a video has several frames: an animated GIF, PNG or WebP, or a folder "
         "of pictures",
         name);
  }
  double seconds = 0;
  for (const Picture& frame : video.frames) seconds += frame.seconds;
  if (seconds > 0) video.fps = static_cast<double>(video.frames.size()) / seconds;
  return video;
}

Video parse_video_frames(std::span<const ByteSpan> files, const std::string& name,
                         const PictureLimits& limits) {
  if (files.size() < 2 || files.size() > static_cast<size_t>(kMostVideoFrames)) {
    fail(ErrorCode::InvalidArgument, "{}: a video of {} frames, expected 2 to {}", name,
         files.size(), kMostVideoFrames);
  }
  Video video;
  video.frames.reserve(files.size());
  PictureLimits left = limits;
  for (size_t i = 0; i < files.size(); ++i) {
    Picture frame = parse_model_picture(files[i], fmt::format("{}, frame {}", name, i), left);
    left.max_pixels -= frame.width * frame.height;
    const Picture& first = video.frames.empty() ? frame : video.frames.front();
    if (frame.width != first.width || frame.height != first.height) {
      fail(ErrorCode::InvalidArgument, "{}: frame {} has {} x {} pixels, the first one {} x {}",
           name, i, frame.width, frame.height, first.width, first.height);
    }
    video.frames.push_back(std::move(frame));
  }
  return video;
}

}  // namespace pippin::image
