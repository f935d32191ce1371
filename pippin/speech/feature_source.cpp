#include "pippin/speech/feature_source.h"

#include <algorithm>

#include "pippin/base/error.h"

namespace pippin::speech {

RecordingSource::RecordingSource(const sound::FeatureExtractor& extractor,
                                 std::span<const float> samples, const WindowShape& shape)
    : extractor_(extractor),
      samples_(samples),
      shape_(shape),
      frames_(static_cast<int64_t>(samples.size() / extractor.hop())) {
  if (extractor.max_samples() / extractor.hop() != static_cast<size_t>(shape.frames)) {
    fail(ErrorCode::Unsupported,
         "{} makes windows of {} samples, {} per frame; the model takes {} frames",
         extractor.type(), extractor.max_samples(), extractor.hop(), shape.frames);
  }
}

double RecordingSource::seconds() const {
  return static_cast<double>(samples_.size()) / static_cast<double>(extractor_.sampling_rate());
}

std::vector<float> RecordingSource::window(int64_t first, int64_t count) {
  if (first == 0 && count == frames_ && samples_.size() <= extractor_.max_samples()) {
    return extractor_(samples_).values;
  }
  if (!features_) features_.emplace(extractor_.frames_of(samples_));
  const sound::Features part =
      features_->window(static_cast<size_t>(first), static_cast<size_t>(count));
  const int64_t bands = part.shape[1];
  std::vector<float> window(static_cast<size_t>(bands * shape_.frames));
  for (int64_t band = 0; band < bands; ++band) {
    std::copy_n(part.values.begin() + band * count, count, window.begin() + band * shape_.frames);
  }
  return window;
}

}  // namespace pippin::speech
