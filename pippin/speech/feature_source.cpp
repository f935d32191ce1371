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
  const double hop = static_cast<double>(extractor.hop());
  const double rate = static_cast<double>(extractor.sampling_rate());
  if (extractor.max_samples() / extractor.hop() != static_cast<size_t>(shape.frames) ||
      hop / rate != shape.seconds_per_frame) {
    fail(ErrorCode::Unsupported,
         "{} makes windows of {} samples at {} Hz, {} per frame; the model takes {} frames of {} s",
         extractor.type(), extractor.max_samples(), extractor.sampling_rate(), extractor.hop(),
         shape.frames, shape.seconds_per_frame);
  }
}

double RecordingSource::seconds() const {
  return static_cast<double>(samples_.size()) / static_cast<double>(extractor_.sampling_rate());
}

std::vector<float> RecordingSource::window(int64_t first, int64_t count) {
  sound::Features part;
  std::span<const float> from;  // [bands, stride], of which the first `count` columns are used
  int64_t stride = count;
  if (samples_.size() <= extractor_.max_samples()) {
    if (whole_.empty()) whole_ = extractor_(samples_).values;
    if (first == 0 && count == frames_) return whole_;
    stride = shape_.frames;
    from = std::span(whole_).subspan(static_cast<size_t>(first));
  } else {
    if (!parts_) parts_.emplace(extractor_.frames_of(samples_));
    part = parts_->window(static_cast<size_t>(first), static_cast<size_t>(count));
    from = part.values;
  }
  const int64_t bands = (std::ssize(from) + stride - 1) / stride;
  std::vector<float> window(static_cast<size_t>(bands * shape_.frames));
  for (int64_t band = 0; band < bands; ++band) {
    std::copy_n(from.begin() + band * stride, count, window.begin() + band * shape_.frames);
  }
  return window;
}

}  // namespace pippin::speech
