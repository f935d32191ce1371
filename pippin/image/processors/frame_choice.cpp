#include "pippin/image/processors/frame_choice.h"

#include <algorithm>

namespace pippin::image {

FrameChoice read_frame_choice(ProcessorConfig& config, int64_t default_count) {
  FrameChoice choice{0, default_count};
  config.ignore("do_sample_frames");
  const auto given = [&](const char* key) { return config.json().find(key).has_value(); };
  if (given("fps") && given("num_frames")) config.invalid("fps", "num_frames is given, too");
  if (given("fps")) choice = {config.number("fps", 1, 1e-3, 1e3), 0};
  if (given("num_frames")) choice.count = config.integer("num_frames", 1, 1, kMostVideoFrames);
  return choice;
}

ChosenFrames choose_frames(const Video& video, const FrameChoice& choice, double fps) {
  const double wanted = fps > 0 ? fps : choice.fps;
  const double given = video.fps > 0 ? video.fps : wanted > 0 ? wanted : 1;
  const auto total = std::ssize(video.frames);
  int64_t count =
      wanted > 0 ? static_cast<int64_t>(static_cast<double>(total) / given * wanted) : choice.count;
  count = count == 0 && wanted == 0 ? total : std::clamp<int64_t>(count, 1, total);
  ChosenFrames chosen;
  chosen.seconds = static_cast<double>(total) / given;
  chosen.indices.reserve(static_cast<size_t>(count));
  chosen.times.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    chosen.indices.push_back(i * total / count);
    chosen.times.push_back(static_cast<double>(chosen.indices.back()) / given);
  }
  return chosen;
}

}  // namespace pippin::image
