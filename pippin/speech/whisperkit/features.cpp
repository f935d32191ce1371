#include "pippin/speech/whisperkit/features.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "pippin/base/error.h"
#include "pippin/families/whisperkit.h"
#include "pippin/runtime/package/package_ports.h"

namespace pippin::speech {

namespace whisperkit = families::whisperkit;

WhisperKitMel::WhisperKitMel(const std::filesystem::path& package, std::string name,
                             ThreadPool& pool, const engine::ComputeOptions& compute, int64_t bins,
                             const WindowShape& shape)
    : part_(package, std::move(name), compute), shape_(shape) {
  constexpr const char* kInputs[] = {whisperkit::kAudio};
  check_known_inputs(part_, kInputs);
  const auto hop = std::llround(shape.seconds_per_frame * static_cast<double>(kSamplingRate));
  samples_ = shape.frames * hop;
  input_shape(part_, whisperkit::kAudio, /*is_float=*/true, {samples_});
  part_.prepare(pool);
  output_shape(part_, whisperkit::kFeatures, {1, bins, 1, shape.frames});
  audio_ = part_.input_port(whisperkit::kAudio);
  features_ = part_.output_port(whisperkit::kFeatures);
}

std::span<const float> WhisperKitMel::compute(std::span<const float> samples) {
  const std::span<float> audio = part_.input(audio_);
  std::fill(std::copy(samples.begin(), samples.end(), audio.begin()), audio.end(), 0.0F);
  part_.execution().run();
  return part_.output(features_);
}

WhisperKitSource::WhisperKitSource(WhisperKitMel& mel, std::span<const float> samples)
    : mel_(mel), samples_(samples) {
  const auto bad = std::find_if(samples.begin(), samples.end(),
                                [](float sample) { return !std::isfinite(sample); });
  if (bad != samples.end()) {
    fail(ErrorCode::InvalidArgument, "sample {} is {}", bad - samples.begin(), *bad);
  }
}

std::vector<float> WhisperKitSource::window(int64_t first, int64_t count) {
  const int64_t frames = mel_.shape().frames;
  if (std::ssize(samples_) <= mel_.window_samples()) {
    if (whole_.empty()) {
      const auto features = mel_.compute(samples_);
      whole_.assign(features.begin(), features.end());
    }
    if (first == 0 && count == this->frames()) return whole_;
    return cut_window(std::span(whole_).subspan(static_cast<size_t>(first)), frames, count, frames);
  }
  const auto begin = static_cast<size_t>(first * mel_.hop());
  const size_t length = std::min(samples_.size() - begin, static_cast<size_t>(count * mel_.hop()));
  const auto features = mel_.compute(samples_.subspan(begin, length));
  return {features.begin(), features.end()};
}

}  // namespace pippin::speech
