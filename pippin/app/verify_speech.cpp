#include <algorithm>
#include <variant>

#include "pippin/app/open/speech_model.h"
#include "pippin/app/verify.h"
#include "pippin/base/error.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/runtime/row_agreement.h"
#include "pippin/sound/sound_reader.h"
#include "pippin/speech/recognition/recognize_recording.h"
#include "pippin/speech/recognition/window_length.h"
#include "pippin/speech/special_tokens.h"
#include "pippin/speech/window_task.h"

namespace pippin::app {
namespace {

using runtime::Agreement;
using Samples = std::span<const float>;

// The results so far.
class SpeechComparison {
 public:
  explicit SpeechComparison(const runtime::AgreementOptions& options) : options_(options) {}

  void add_states(std::span<const float> model, std::span<const float> source) {
    if (model.size() != source.size()) {
      fail(ErrorCode::InvalidArgument,
           "the model's encoder gives {} numbers for a window, its "
           "source's {}",
           model.size(), source.size());
    }
    states_.add(model, source);
  }
  // Returns the source's most likely token.
  int64_t add_logits(std::span<const float> model, std::span<const float> source) {
    logits_.add(model, source, logits_.rows());
    return runtime::argmax(source);
  }
  void add_token(bool is_same) {
    if (!is_same && !result_.first_difference) result_.first_difference = result_.greedy_tokens;
    ++result_.greedy_tokens;
  }
  void advance(uint64_t done, uint64_t total) const {
    check_cancel();
    if (options_.progress) options_.progress(done, total);
  }
  int64_t most_tokens() const { return options_.greedy_tokens; }

  Agreement finish() {
    result_.tokens = logits_.rows();
    result_.mean_kl = logits_.mean_kl();
    result_.max_kl = logits_.max_kl();
    result_.top1 = logits_.top1();
    constexpr const char* kPart = "encoder";
    result_.parts = {{kPart, kPart, states_.value()}};
    return std::move(result_);
  }

 private:
  const runtime::AgreementOptions& options_;
  runtime::RowAgreement logits_;
  runtime::RelativeDifference states_;
  Agreement result_;
};

void check_same(const char* what, int64_t mine, int64_t theirs) {
  if (mine == theirs) return;
  fail(ErrorCode::InvalidArgument, "the model has {} {}, its source {}", mine, what, theirs);
}

// The tokens before a text: the language is that of the first window, as the source hears it.
std::vector<int32_t> first_tokens(const OpenedWhisper& source, const speech::SpecialTokens& tokens,
                                  std::span<const float> features) {
  std::vector<int32_t> ids = {tokens.start_of_transcript};
  if (!tokens.is_multilingual()) return ids;
  const auto decoder = source.model->encode(features);
  const auto languages = speech::detect_languages(*decoder, tokens);
  ids.push_back(*tokens.language(languages.front().first));
  if (tokens.transcribe) ids.push_back(*tokens.transcribe);
  return ids;
}

// The decoders of a window, both fed the source's tokens.
void compare_texts(speech::WindowDecoder& model, speech::WindowDecoder& source,
                   std::span<const int32_t> start, int32_t end, int64_t context,
                   SpeechComparison& comparison) {
  const int64_t most = std::min(comparison.most_tokens(), context - std::ssize(start) + 1);
  std::vector<int32_t> next(start.begin(), start.end());
  for (int64_t i = 0; i < most; ++i) {
    check_cancel();
    const std::span<const float> mine = model.feed(next), theirs = source.feed(next);
    const int64_t best = comparison.add_logits(mine, theirs);
    comparison.add_token(runtime::argmax(mine) == best);
    if (best == end) return;
    next = {static_cast<int32_t>(best)};
  }
}

// Of a recording of one window.
std::vector<float> features_of(const OpenedWhisper& whisper, Samples samples) {
  const auto source = whisper.features(samples);
  return source->window(0, source->frames());
}

void compare_whisper(const OpenedWhisper& model, const OpenedWhisper& source, Samples samples,
                     SpeechComparison& comparison) {
  const speech::WindowShape shape = source.model->shape();
  const int64_t rate = source.sampling_rate();
  check_same("samples per second", model.sampling_rate(), rate);
  check_same("frames of a window", model.model->shape().frames, shape.frames);
  check_same("tokens", model.model->vocab_size(), source.model->vocab_size());
  const int64_t context = std::min(model.model->context(), source.model->context());
  const speech::SpecialTokens tokens = speech::read_special_tokens(
      source.tokenizer, source.generation_config, source.model->vocab_size(), shape.positions);
  // Each window is a recording of its own: models differ in the features of longer ones.
  const auto most = static_cast<size_t>(shape.seconds() * static_cast<double>(rate));
  std::vector<int32_t> start;
  for (size_t begin = 0; begin < samples.size(); begin += most) {
    comparison.advance(begin, samples.size());
    const Samples part = samples.subspan(begin, std::min(most, samples.size() - begin));
    const std::vector<float> window = features_of(model, part),
                             expected = features_of(source, part);
    comparison.add_states(model.model->states(window), source.model->states(expected));
    if (start.empty()) start = first_tokens(source, tokens, expected);
    const auto decoder = model.model->encode(window);
    const auto source_decoder = source.model->encode(expected);
    compare_texts(*decoder, *source_decoder, start, tokens.end_of_text, context, comparison);
  }
}

void compare_window(speech::Recognizer& model, speech::Recognizer& source, Samples window,
                    SpeechComparison& comparison) {
  const runtime::EncodedSpeech mine = model.encode(window), theirs = source.encode(window);
  check_same("numbers in a row of the encoder", mine.width, theirs.width);
  comparison.add_states(mine.rows, theirs.rows);
  if (theirs.are_scores && mine.are_scores) {
    const auto width = static_cast<size_t>(theirs.width);
    for (size_t at = 0; at < theirs.rows.size(); at += width) {
      comparison.add_logits(Samples(mine.rows).subspan(at, width),
                            Samples(theirs.rows).subspan(at, width));
    }
  }
  const auto tokens = model.recognize(window), expected = source.recognize(window);
  for (size_t i = 0; i < std::max(tokens.size(), expected.size()); ++i) {
    const bool has_both = i < tokens.size() && i < expected.size();
    comparison.add_token(has_both && tokens[i].id == expected[i].id);
  }
}

void compare_recognizers(speech::Recognizer& model, speech::Recognizer& source, Samples samples,
                         SpeechComparison& comparison) {
  const int64_t rate = source.sampling_rate();
  check_same("samples per second", model.sampling_rate(), rate);
  const size_t most = std::min({model.most_samples(), source.most_samples(),
                                static_cast<size_t>(speech::kMostSecondsOfWindow * rate)});
  for (size_t begin = 0; begin < samples.size();) {
    comparison.advance(begin, samples.size());
    const Samples rest = samples.subspan(begin);
    const Samples window = rest.first(speech::window_length(rest, most, rate));
    compare_window(model, source, window, comparison);
    begin += window.size();
  }
}

void check_measured(const VerifyLimits& limits) {
  const bool is_measured = !limits.max_perplexity_increase && !limits.max_step_difference &&
                           !limits.max_prefill_difference;
  if (is_measured) return;
  fail(ErrorCode::InvalidArgument,
       "perplexity and differences of steps are not measured on recordings");
}

}  // namespace

VerifyResult verify_speech(const ModelChoice& model, const ModelChoice& source,
                           const std::string& recording, const VerifyOptions& options) {
  check_limits(options.limits);
  check_measured(options.limits);
  const OpenedSpeech theirs = open_speech(source), mine = open_speech(model);
  SpeechComparison comparison(options.agreement);
  const auto* const whisper = std::get_if<OpenedWhisper>(&theirs);
  const auto* const own = std::get_if<OpenedWhisper>(&mine);
  if ((whisper == nullptr) != (own == nullptr)) {
    fail(ErrorCode::InvalidArgument, "{} is a Whisper model, {} is not",
         whisper != nullptr ? source.path : model.path,
         whisper != nullptr ? model.path : source.path);
  }
  const int64_t rate = whisper != nullptr
                           ? whisper->sampling_rate()
                           : std::get<OpenedRecognizer>(theirs).recognizer->sampling_rate();
  const std::vector<float> samples = sound::read_sound(recording, rate);
  if (samples.empty()) {
    fail(ErrorCode::InvalidArgument, "{}: no sound to compare models on", recording);
  }
  if (whisper != nullptr) {
    compare_whisper(*own, *whisper, samples, comparison);
  } else {
    compare_recognizers(*std::get<OpenedRecognizer>(mine).recognizer,
                        *std::get<OpenedRecognizer>(theirs).recognizer, samples, comparison);
  }
  VerifyResult result;
  result.agreement = comparison.finish();
  result.broken = broken_limits(options.limits, result.agreement);
  return result;
}

}  // namespace pippin::app
