#include "pippin/speech/recognition/written_recognizer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "pippin/base/error.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/runtime/sequence.h"
#include "pippin/runtime/speech/speech_token.h"

namespace pippin::speech {
namespace {

constexpr int64_t kRateOfSamples = 16000;  // of runtime::SourceForm
constexpr double kMostTokensPerSecond = 13;

}  // namespace

WrittenRecognizer::WrittenRecognizer(std::shared_ptr<runtime::Model> model,
                                     sound::FeatureExtractor extractor, TextEnds ends)
    : model_(std::move(model)), extractor_(std::move(extractor)), ends_(std::move(ends)) {
  const auto& source = model_->source();
  if (!source || source->bins != 0) {
    fail(ErrorCode::Unsupported, "the model does not take samples of recordings");
  }
  if (extractor_.sampling_rate() != kRateOfSamples) {
    fail(ErrorCode::InvalidFile, "{} takes samples at {} Hz, the model at {} Hz", extractor_.type(),
         extractor_.sampling_rate(), kRateOfSamples);
  }
}

size_t WrittenRecognizer::most_samples() const {
  return static_cast<size_t>(model_->source()->frames);
}

sound::Features WrittenRecognizer::input_of(std::span<const float> samples) const {
  const int64_t least = model_->source()->least_frames;
  if (std::ssize(samples) < least) {
    fail(ErrorCode::InvalidArgument, "{} samples: the model takes {} at least", samples.size(),
         least);
  }
  sound::Features features = extractor_(samples);
  if (features.shape.size() != 2) {
    fail(ErrorCode::InvalidFile, "{} gives no samples, which the model takes", extractor_.type());
  }
  return features;
}

runtime::EncodedSpeech WrittenRecognizer::encode(std::span<const float> samples) {
  const sound::Features features = input_of(samples);
  const auto sequence = model_->new_sequence();
  sequence->set_source({features.values, {features.shape[1]}});
  std::vector<runtime::HiddenStates> parts = sequence->trace({&ends_.start, 1});
  if (parts.empty()) {
    fail(ErrorCode::Unsupported, "the model does not give the states of its encoder");
  }
  return {parts.front().width, std::move(parts.front().rows), /*are_scores=*/false};
}

std::vector<RecognizedToken> WrittenRecognizer::recognize(std::span<const float> samples) {
  const sound::Features features = input_of(samples);
  const double seconds = static_cast<double>(samples.size()) / kRateOfSamples;
  const auto sequence = model_->new_sequence();
  sequence->set_source({features.values, {features.shape[1]}});
  std::vector<int32_t> prompt = {ends_.start};
  if (ends_.first >= 0) prompt.push_back(ends_.first);
  // The last token is not fed.
  const int64_t most = std::min(static_cast<int64_t>(std::ceil(seconds * kMostTokensPerSecond)),
                                model_->context() - std::ssize(prompt) + 1);
  std::vector<RecognizedToken> tokens;
  for (std::span<const int32_t> next = prompt; std::ssize(tokens) < most;
       next = {&tokens.back().id, 1}) {
    check_cancel();
    const runtime::BestScore best = runtime::best_score(sequence->prefill(next));
    if (std::find(ends_.ends.begin(), ends_.ends.end(), best.index) != ends_.ends.end()) break;
    tokens.push_back({best.index, 0, seconds, best.probability});
  }
  return tokens;
}

}  // namespace pippin::speech
