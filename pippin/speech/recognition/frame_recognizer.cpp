#include "pippin/speech/recognition/frame_recognizer.h"

#include <algorithm>
#include <utility>

#include "pippin/base/error.h"

namespace pippin::speech {

FrameRecognizer::FrameRecognizer(std::unique_ptr<runtime::SpeechRecognizer> model,
                                 sound::FeatureExtractor extractor)
    : model_(std::move(model)), extractor_(std::move(extractor)) {
  const int64_t rate = model_->input().sampling_rate;
  if (extractor_.sampling_rate() != rate) {
    fail(ErrorCode::InvalidFile, "{} takes samples at {} Hz, the model at {} Hz", extractor_.type(),
         extractor_.sampling_rate(), rate);
  }
}

size_t FrameRecognizer::most_samples() const {
  const runtime::SpeechRecognizer::Input input = model_->input();
  if (input.bins == 0) return static_cast<size_t>(input.longest);
  // A recording may have one row more than whole steps between rows.
  return static_cast<size_t>(std::max<int64_t>(input.longest - 1, 1) * input.row_samples);
}

std::vector<float> FrameRecognizer::input_of(std::span<const float> samples) const {
  const int64_t bins = model_->input().bins;
  sound::Features features = extractor_(samples);
  const int64_t width = features.shape.size() == 3 ? features.shape[2] : 0;
  if (width != bins) {
    fail(ErrorCode::InvalidFile, "{} gives {}, the model takes {}", extractor_.type(),
         width == 0 ? "samples" : fmt::format("rows of {} numbers", width),
         bins == 0 ? "samples" : fmt::format("rows of {} numbers", bins));
  }
  int64_t rows = features.shape[1];
  if (!features.mask.empty()) {
    rows = std::count(features.mask.begin(), features.mask.end(), 1);  // padding follows
  }
  features.values.resize(static_cast<size_t>(rows * std::max<int64_t>(bins, 1)));
  return std::move(features.values);
}

runtime::EncodedSpeech FrameRecognizer::encode(std::span<const float> samples) {
  const std::vector<float> input = input_of(samples);
  const std::lock_guard guard(mutex_);
  return model_->encode(input);
}

std::vector<RecognizedToken> FrameRecognizer::recognize(std::span<const float> samples) {
  const std::vector<float> input = input_of(samples);
  const double frame = model_->seconds_per_frame();
  std::vector<RecognizedToken> tokens;
  const std::lock_guard guard(mutex_);
  const auto found = model_->recognize(input);
  tokens.reserve(found.size());
  for (const runtime::SpeechToken& token : found) {
    tokens.push_back({token.id, static_cast<double>(token.begin) * frame,
                      static_cast<double>(token.end) * frame, token.probability});
  }
  return tokens;
}

}  // namespace pippin::speech
