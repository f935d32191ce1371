// Processors of videos that put frames into patches: those of Qwen2-VL, Qwen3-VL and GLM-4V.
#include <algorithm>
#include <cmath>
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
    const std::vector<int64_t> chosen = choose(std::ssize(video.frames), given, wanted, fps > 0);
    std::vector<const Picture*> frames;
    frames.reserve(chosen.size());
    for (const int64_t index : chosen) frames.push_back(&video.frames[static_cast<size_t>(index)]);
    const Size own = size_of(*frames.front());
    ImageInputs inputs =
        process_frames(frames, options().pixels.resize ? target(own, chosen) : own);
    set_times(chosen, given, std::ssize(video.frames), inputs);
    return inputs;
  }

 protected:
  const VideoOptions& video() const { return video_; }
  // The indices of frames.
  virtual std::vector<int64_t> choose(int64_t total, double given, double wanted,
                                      bool /*asked*/) const {
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
  // The time of a patch between the times of its first and its last frame.
  virtual double patch_time(double first, double last) const { return (first + last) / 2; }

 private:
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

  void set_times(const std::vector<int64_t>& chosen, double given, int64_t total,
                 ImageInputs& inputs) const {
    const auto step = static_cast<size_t>(options().frames);
    for (size_t i = 0; i < chosen.size(); i += step) {
      const int64_t last = chosen[std::min(i + step, chosen.size()) - 1];
      const auto time = [&](int64_t index) { return static_cast<double>(index) / given; };
      inputs.times.push_back(patch_time(time(chosen[i]), time(last)));
    }
    inputs.seconds = static_cast<double>(total) / given;
    inputs.seconds_per_patch =
        static_cast<double>(options().frames * total) / static_cast<double>(chosen.size()) / given;
  }

  VideoOptions video_;
};

// `count` numbers from first to last at equal distances, rounded down.
std::vector<int64_t> spread_frames(int64_t first, int64_t last, int64_t count) {
  std::vector<int64_t> indices(static_cast<size_t>(count), first);
  for (int64_t i = 1; i < count; ++i) {
    indices[static_cast<size_t>(i)] = first + i * (last - first) / (count - 1);
  }
  return indices;
}

// GLM-4.1V: frames at even times up to `longest_` seconds, else as many of all; GLM-4.6V: by the
// video's length, unless a rate is asked for. The last one stands twice if their number is odd.
class GlmVideoKind : public VideoKind {
 public:
  GlmVideoKind(PatchOptions patches, const VideoOptions& options, int64_t longest, bool by_length)
      : VideoKind(std::move(patches), options), longest_(longest), by_length_(by_length) {}

 protected:
  std::vector<int64_t> choose(int64_t total, double given, double wanted,
                              bool asked) const override {
    const double seconds = static_cast<double>(total) / given;
    std::vector<int64_t> indices = by_length_ && !asked ? by_length(total, given, seconds)
                                                        : at_times(total, given, wanted, seconds);
    indices.erase(std::unique(indices.begin(), indices.end()), indices.end());
    if (indices.size() % 2 != 0) indices.push_back(indices.back());
    return indices;
  }
  double patch_time(double first, double /*last*/) const override { return first; }

 private:
  std::vector<int64_t> at_times(int64_t total, double given, double wanted, double seconds) const {
    const bool is_long = seconds > static_cast<double>(longest_);
    const double exact = (is_long ? static_cast<double>(longest_) : seconds) * wanted;
    const int64_t count =
        std::clamp<int64_t>(static_cast<int64_t>(exact), 1, is_long ? total : kMostVideoFrames);
    if (is_long && count == total) return spread_frames(0, total - 1, total);
    std::vector<int64_t> indices(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) {
      const double time = !is_long ? static_cast<double>(i) / wanted
                          : count > 1
                              ? seconds * static_cast<double>(i) / static_cast<double>(count - 1)
                              : 0;
      indices[static_cast<size_t>(i)] =
          std::min(total - 1, static_cast<int64_t>(std::ceil(time * given)));
    }
    return indices;
  }

  std::vector<int64_t> by_length(int64_t total, double given, double seconds) const {
    constexpr double kLongest = 2400;
    constexpr int64_t kMostFrames = 640;
    const double length = std::min(seconds, kLongest);
    const double patches_per_second = length <= 30 ? 3 : length <= 300 ? 1 : 0.5;
    const double fps = patches_per_second * static_cast<double>(options().frames);
    const int64_t count = std::clamp<int64_t>(static_cast<int64_t>(length * fps), 1, kMostFrames);
    if (total < count) return spread_frames(0, total - 1, count);
    std::vector<int64_t> picked;
    double next = 0;
    for (int64_t i = 0; i < total; ++i) {
      if (static_cast<double>(i) / given < next) continue;
      picked.push_back(i);
      next += 1 / fps;
      if (next >= std::floor(seconds)) break;
    }
    const auto found = std::ssize(picked);
    if (found == count) return picked;
    if (found < 3 || found > count) return spread_frames(0, total - 1, count);
    return spread_frames(picked.front(), picked.back(), count);
  }

  int64_t longest_;
  bool by_length_;
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

namespace {

std::shared_ptr<ImageKind> read_glm_video(ProcessorConfig& config, bool by_length) {
  PixelRange range{};
  PatchOptions patches =
      read_patches(config, kClipMean, kClipStd, {14, 2, 2, 112 * 112, 28 * 28 * 2 * 30000}, range);
  VideoOptions options{.together = true, .range = range};
  config.ignore("do_sample_frames");
  options.fps = config.number("fps", options.fps, 1e-3, 1e3);
  const int64_t longest = config.integer("max_duration", 300, 1, 1 << 20);
  return std::make_shared<GlmVideoKind>(std::move(patches), options, longest, by_length);
}

}  // namespace

std::shared_ptr<ImageKind> read_glm4v_video(ProcessorConfig& config) {
  return read_glm_video(config, /*by_length=*/false);
}
std::shared_ptr<ImageKind> read_glm46v_video(ProcessorConfig& config) {
  return read_glm_video(config, /*by_length=*/true);
}

}  // namespace pippin::image
