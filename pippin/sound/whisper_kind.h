// Whisper's log-mel features: 10 ms frames of a recording padded to 30 s, relative to the loudest
// value.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "pippin/sound/feature_kind.h"
#include "pippin/sound/mel_spectrogram.h"

namespace pippin::sound {

class WhisperKind : public FeatureKind {
 public:
  explicit WhisperKind(ExtractorConfig& config);

  Features compute(std::span<const float> samples) const override;
  size_t max_samples() const override { return max_samples_; }
  size_t hop() const override { return hop_; }
  RecordingFeatures frames_of(std::span<const float> samples) const override;

  // --- for RecordingFeatures ---
  // The last frame of a centred spectrogram does not count.
  size_t num_frames(size_t length) const { return length / hop_; }
  // Returns the largest logarithm in the frames of the recording.
  float peak(const PaddedSamples& input) const;
  // Returns frames [first, last), followed by zeros up to `count` frames, relative to `peak`.
  Features window(const PaddedSamples& input, size_t first, size_t last, size_t count,
                  float peak) const;

 private:
  // Writes logarithms, in the order (bands, stride).
  void write_logarithms(const PaddedSamples& input, size_t first, size_t last, size_t stride,
                        float* out) const;
  Features empty_features(size_t count) const;
  // Limits the values below `peak` and scales them.
  static void scale(std::span<float> values, float peak);

  size_t hop_, max_samples_;
  bool with_mask_, normalize_;
  MelSpectrogram spectrogram_;
};

}  // namespace pippin::sound
