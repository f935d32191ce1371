// Encoder-decoder models that take the samples themselves and write text without timestamps
// (Moonshine), as recognizers: greedy, token by token.
#pragma once

#include <memory>
#include <vector>

#include "pippin/runtime/model.h"
#include "pippin/sound/feature_extractor.h"
#include "pippin/speech/recognition/recognizer.h"

namespace pippin::speech {

// The tokens around a text.
struct TextEnds {
  int32_t start = 0;          // is fed first
  int32_t first = -1;         // and then this one; below 0: none
  std::vector<int32_t> ends;  // one of these ends the text
};

class WrittenRecognizer final : public Recognizer {
 public:
  // Throws Unsupported for a model that does not take samples, InvalidFile if the extractor's rate
  // is not 16 kHz.
  WrittenRecognizer(std::shared_ptr<runtime::Model> model, sound::FeatureExtractor extractor,
                    TextEnds ends);

  int64_t sampling_rate() const override { return extractor_.sampling_rate(); }
  size_t most_samples() const override;
  bool finds_times() const override { return false; }
  // At most 13 tokens per second, so that a model that repeats itself comes to an end: twice the
  // limit that Moonshine's authors give for English, and theirs for other scripts.
  std::vector<RecognizedToken> recognize(std::span<const float> samples) override;
  runtime::EncodedSpeech encode(std::span<const float> samples) override;

 private:
  // The model's input for samples.
  sound::Features input_of(std::span<const float> samples) const;

  std::shared_ptr<runtime::Model> model_;
  sound::FeatureExtractor extractor_;
  TextEnds ends_;
};

}  // namespace pippin::speech
