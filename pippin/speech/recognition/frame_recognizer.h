// CTC models and transducers (runtime/speech/speech_recognizer.h) as recognizers.
#pragma once

#include <memory>
#include <mutex>

#include "pippin/runtime/speech/speech_recognizer.h"
#include "pippin/sound/feature_extractor.h"
#include "pippin/speech/recognition/recognizer.h"

namespace pippin::speech {

class FrameRecognizer final : public Recognizer {
 public:
  // Throws InvalidFile if the features are of another sampling rate than the model.
  FrameRecognizer(std::unique_ptr<runtime::SpeechRecognizer> model,
                  sound::FeatureExtractor extractor);

  int64_t sampling_rate() const override { return extractor_.sampling_rate(); }
  size_t most_samples() const override;
  bool finds_times() const override { return true; }
  // Also throws InvalidFile if the features are not those that the model takes.
  std::vector<RecognizedToken> recognize(std::span<const float> samples) override;
  runtime::EncodedSpeech encode(std::span<const float> samples) override;

 private:
  // The model's input for samples, without padding.
  std::vector<float> input_of(std::span<const float> samples) const;

  std::unique_ptr<runtime::SpeechRecognizer> model_;
  sound::FeatureExtractor extractor_;
  std::mutex mutex_;  // of model_
};

}  // namespace pippin::speech
