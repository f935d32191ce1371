#include "pippin/speech/recognition/recognize_recording.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "pippin/base/error.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/speech/recognition/window_length.h"

namespace pippin::speech {
namespace {

// Recognizers choose the best tokens, as temperature 0 does; the default's higher ones are for
// texts that fail.
bool is_greedy(const std::vector<double>& temperatures) {
  const std::vector<double> usual = TranscribeOptions().temperatures;
  if (temperatures.size() == 1) return temperatures.front() == 0;
  constexpr double kRounding = 1e-6;
  return std::equal(temperatures.begin(), temperatures.end(), usual.begin(), usual.end(),
                    [&](double a, double b) { return std::abs(a - b) < kRounding; });
}

}  // namespace

std::optional<std::string_view> option_of_whisper(const TranscribeOptions& options) {
  const TranscribeOptions usual;
  const auto is_usual = [&](auto member) { return options.*member == usual.*member; };
  using Options = TranscribeOptions;
  const std::pair<std::string_view, bool> kept[] = {
      {"language", is_usual(&Options::language)},
      {"task", is_usual(&Options::task)},
      {"initial_prompt", is_usual(&Options::initial_prompt)},
      {"carry_initial_prompt", is_usual(&Options::carry_initial_prompt)},
      {"hotwords", is_usual(&Options::hotwords)},
      {"temperature", is_greedy(options.temperatures)},
      {"beam_size", is_usual(&Options::beam_size)},
      {"best_of", is_usual(&Options::best_of)},
      {"patience", is_usual(&Options::patience)},
      {"length_penalty", is_usual(&Options::length_penalty)},
      {"max_tokens", is_usual(&Options::max_tokens)},
      {"suppress_tokens", is_usual(&Options::suppress_tokens)},
      {"suppress_blank", is_usual(&Options::suppress_blank)},
      {"max_initial_timestamp", is_usual(&Options::max_initial_timestamp)},
      {"seed", is_usual(&Options::seed)},
      {"compression_ratio_threshold", is_usual(&Options::compression_ratio_threshold)},
      {"logprob_threshold", is_usual(&Options::logprob_threshold)},
      {"no_speech_threshold", is_usual(&Options::no_speech_threshold)},
      {"condition_on_previous_text", is_usual(&Options::condition_on_previous_text)},
      {"prepend_punctuations", is_usual(&Options::prepend_punctuations)},
      {"append_punctuations", is_usual(&Options::append_punctuations)},
      {"hallucination_silence_threshold", is_usual(&Options::hallucination_silence_threshold)},
      {"clip_timestamps", is_usual(&Options::clip_timestamps)},
  };
  for (const auto& [name, is_kept] : kept) {
    if (!is_kept) return name;
  }
  return std::nullopt;
}

void check_options(const Recognizer& recognizer, const TranscribeOptions& options) {
  if (const auto name = option_of_whisper(options)) {
    fail(ErrorCode::InvalidArgument, "{}: only Whisper models take it, this one does not", *name);
  }
  if (options.word_timestamps && !recognizer.finds_times()) {
    fail(ErrorCode::Unsupported, "the model gives no times of words");
  }
}

Transcription recognize_recording(Recognizer& recognizer, const TokenTexts& texts,
                                  std::span<const float> samples, const TranscribeOptions& options,
                                  const Events& events) {
  check_options(recognizer, options);
  const int64_t rate = recognizer.sampling_rate();
  const size_t most =
      std::min(recognizer.most_samples(), static_cast<size_t>(kMostSecondsOfWindow * rate));
  const auto seconds = [&](size_t count) {
    return static_cast<double>(count) / static_cast<double>(rate);
  };
  const double duration = seconds(samples.size());
  Transcription result;
  result.duration = duration;
  const bool splits = recognizer.finds_times() && !options.without_timestamps;
  for (size_t begin = 0; begin < samples.size();) {
    check_cancel();
    if (events.progress) events.progress(seconds(begin), duration);
    const auto rest = samples.subspan(begin);
    const auto window = rest.first(window_length(rest, most, rate));
    const double offset = seconds(begin);
    const auto words = recognized_words(recognizer.recognize(window), texts, offset);
    std::vector<Segment> segments = recognized_segments(words, splits, options.word_timestamps,
                                                        offset, std::ssize(result.segments));
    for (Segment& segment : segments) {
      segment.end = std::min(segment.end, round_time(offset + seconds(window.size())));
      result.text += segment.text;
      if (events.segment) events.segment(segment);
      result.segments.push_back(std::move(segment));
    }
    begin += window.size();
  }
  if (events.progress && !samples.empty()) events.progress(duration, duration);
  return result;
}

}  // namespace pippin::speech
