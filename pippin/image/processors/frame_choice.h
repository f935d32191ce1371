// The frames of a video that a model sees, for processors that see each of them as a picture.
#pragma once

#include <cstdint>
#include <vector>

#include "pippin/image/processors/processor_config.h"
#include "pippin/image/video.h"

namespace pippin::image {

struct FrameChoice {
  double fps = 0;     // of the frames that are chosen; 0: they are chosen by number
  int64_t count = 0;  // at equal distances; 0: all frames
};
// Reads "fps" and "num_frames", of which a file may have one; throws InvalidFile for both.
FrameChoice read_frame_choice(ProcessorConfig& config, int64_t default_count);

struct ChosenFrames {
  std::vector<int64_t> indices;
  std::vector<double> times;  // of each, in seconds
  double seconds = 0;         // of the whole video
};
// `fps` has precedence if it is not 0. A video without a rate has as many frames per second as are
// chosen, or one.
ChosenFrames choose_frames(const Video& video, const FrameChoice& choice, double fps);

}  // namespace pippin::image
