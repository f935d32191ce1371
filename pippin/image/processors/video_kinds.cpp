// Processors of videos: those of Qwen2-VL and of Qwen3-VL.
#include <algorithm>
#include <utility>
#include <vector>

#include "pippin/image/processors/kinds.h"
#include "pippin/image/processors/patch_blocks.h"
#include "pippin/image/processors/sizes.h"

namespace pippin::image {
namespace {

struct VideoOptions {
  double fps = 2;  // of the frames that are chosen
  int64_t least_frames = 4, most_frames = 768;
  // Qwen3-VL: the limits are for the pixels of all frames, and the last frame is always chosen.
  bool together = false;
  PixelRange range{};
};

class VideoKind : public BlockKind {
 public:
  VideoKind(PatchOptions patches, const VideoOptions& options)
      : BlockKind(std::move(patches)), video_(options) {}

  ImageInputs process_video(const Video& video, double fps) const override {
    const double wanted = fps > 0 ? fps : video_.fps;
    const double given = video.fps > 0 ? video.fps : wanted;
    const std::vector<int64_t> chosen = choose(std::ssize(video.frames), given, wanted);
    std::vector<const Picture*> frames;
    frames.reserve(chosen.size());
    for (const int64_t index : chosen) frames.push_back(&video.frames[static_cast<size_t>(index)]);
    const Size own = size_of(*frames.front());
    ImageInputs inputs =
        process_frames(frames, options().pixels.resize ? target(own, chosen) : own);
    set_times(chosen, given, std::ssize(video.frames), inputs);
    return inputs;
  }

 private:
  // The indices of frames.
  std::vector<int64_t> choose(int64_t total, double given, double wanted) const {
    const int64_t most = std::min(video_.most_frames, total);
    int64_t count = total;
    if (wanted < given || total > most) {
      const double exact = static_cast<double>(total) / given * wanted;
      const auto least = static_cast<double>(std::min(video_.least_frames, most));
      count = static_cast<int64_t>(std::clamp(exact, least, static_cast<double>(most)));
      const int64_t step = options().frames;
      if (!video_.together && count >= step) count = count / step * step;
    }
    std::vector<int64_t> indices;
    indices.reserve(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) {
      if (!video_.together) {
        indices.push_back(i * total / count);
      } else {
        const double interval =
            count > 1 ? static_cast<double>(total - 1) / static_cast<double>(count - 1) : 0;
        indices.push_back(rounded_to_even(static_cast<double>(i) * interval));
      }
    }
    return indices;
  }

  Size target(Size size, const std::vector<int64_t>& chosen) const {
    const int64_t factor = options().patch * options().merge;
    if (!video_.together) {
      return smart_size(size, factor, video_.range.least, video_.range.most);
    }
    const auto count = static_cast<double>(chosen.size());
    const auto step = static_cast<double>(options().frames);
    const int64_t whole = std::max<int64_t>(rounded_to_even(count / step), 1) * options().frames;
    return smart_size(at_least_one_block(size, factor), factor, video_.range.least,
                      video_.range.most, std::ssize(chosen), whole);
  }

  // A patch is shown between its first frame and its last one.
  void set_times(const std::vector<int64_t>& chosen, double given, int64_t total,
                 ImageInputs& inputs) const {
    const auto step = static_cast<size_t>(options().frames);
    for (size_t i = 0; i < chosen.size(); i += step) {
      const int64_t last = chosen[std::min(i + step, chosen.size()) - 1];
      const auto time = [&](int64_t index) { return static_cast<double>(index) / given; };
      inputs.times.push_back((time(chosen[i]) + time(last)) / 2);
    }
    inputs.seconds = static_cast<double>(total) / given;
    inputs.seconds_per_patch =
        static_cast<double>(options().frames * total) / static_cast<double>(chosen.size()) / given;
  }

  VideoOptions video_;
};

VideoOptions read_video(ProcessorConfig& config, PixelRange range, bool together) {
  VideoOptions options{.together = together, .range = range};
  config.ignore("do_sample_frames");
  options.fps = config.number("fps", options.fps, 1e-3, 1e3);
  options.least_frames = config.integer("min_frames", options.least_frames, 1, kMostVideoFrames);
  options.most_frames = config.integer("max_frames", options.most_frames, 1, kMostVideoFrames);
  return options;
}

}  // namespace

std::shared_ptr<ImageKind> read_qwen3_video(ProcessorConfig& config) {
  PixelRange range{};
  PatchOptions patches =
      read_patches(config, kHalf, kHalf, {16, 2, 2, 128 * 32 * 32, 32 * 32 * 768}, range);
  return std::make_shared<VideoKind>(std::move(patches), read_video(config, range, true));
}

std::shared_ptr<ImageKind> read_qwen2_video(ProcessorConfig& config) {
  PixelRange range{};
  PatchOptions patches =
      read_patches(config, kClipMean, kClipStd, {14, 2, 2, 128 * 28 * 28, 28 * 28 * 768}, range);
  return std::make_shared<VideoKind>(std::move(patches), read_video(config, range, false));
}

}  // namespace pippin::image
