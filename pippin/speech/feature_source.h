// Features of a recording, window by window.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "pippin/sound/feature_extractor.h"
#include "pippin/sound/recording_features.h"
#include "pippin/speech/window_decoder.h"

namespace pippin::speech {

class FeatureSource {
 public:
  virtual ~FeatureSource() = default;

  virtual int64_t frames() const = 0;  // of the whole recording
  virtual double seconds() const = 0;  // its length
  // Returns a window, [bands, WindowShape::frames], of `count` frames from `first` on, padded.
  virtual std::vector<float> window(int64_t first, int64_t count) = 0;
};

// Features by a model's rule. A recording that fits into one window is padded with silence, as
// while the model was trained; windows of longer ones with zeros, as transformers does.
class RecordingSource final : public FeatureSource {
 public:
  // `samples` must outlive it. Throws InvalidArgument for samples that are not finite, Unsupported
  // if the rule's windows are not those of the model.
  RecordingSource(const sound::FeatureExtractor& extractor, std::span<const float> samples,
                  const WindowShape& shape);

  int64_t frames() const override { return frames_; }
  double seconds() const override;
  std::vector<float> window(int64_t first, int64_t count) override;

 private:
  const sound::FeatureExtractor& extractor_;
  std::span<const float> samples_;
  WindowShape shape_;
  int64_t frames_;
  // Made on first use: all features of a recording that fits into one window, or those of others on
  // request.
  std::vector<float> whole_;
  std::optional<sound::RecordingFeatures> parts_;
};

}  // namespace pippin::speech
