#include "pippin/speech/recognition/recognize_recording.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <variant>
#include <vector>

#include "pippin/base/error.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/speech/option_table.h"
#include "pippin/speech/recognition/join_words.h"
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

// Windows whose end may cut a word share so many seconds with the next one.
constexpr int64_t kSecondsOfOverlap = 2;

struct RecognizedWindow {
  double begin = 0, end = 0;  // seconds
  std::vector<RecognizedWord> words;
};

}  // namespace

std::optional<std::string_view> option_of_whisper(const TranscribeOptions& options) {
  const TranscribeOptions usual;
  if (options.language != usual.language) return "language";
  if (options.task != usual.task) return "task";
  if (!is_greedy(options.temperatures)) return "temperature";
  for (const TranscribeOption& known : transcribe_options()) {
    const std::string_view name = known.name;
    if (name == "word_timestamps" || name == "without_timestamps") continue;
    if (name.starts_with("vad_")) continue;  // of the recording, not of the model
    const bool is_usual =
        std::visit([&](auto member) { return options.*member == usual.*member; }, known.member);
    if (!is_usual) return name;
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
  const auto tell = [&](const RecognizedWindow& window) {
    std::vector<Segment> segments = recognized_segments(
        window.words, splits, options.word_timestamps, window.begin, std::ssize(result.segments));
    for (Segment& segment : segments) {
      segment.end = std::min(segment.end, round_time(window.end));
      result.text += segment.text;
      if (events.segment) events.segment(segment);
      result.segments.push_back(std::move(segment));
    }
  };
  std::optional<RecognizedWindow> last;  // not told yet, because the next window overlaps it
  for (size_t begin = 0; begin < samples.size();) {
    check_cancel();
    if (events.progress) events.progress(seconds(begin), duration);
    const auto rest = samples.subspan(begin);
    WindowEnd end = window_end(rest, most, rate);
    const bool overlaps = !end.is_quiet && recognizer.finds_times();
    if (overlaps) end.length = most;
    RecognizedWindow window{seconds(begin), seconds(begin + end.length), {}};
    window.words =
        recognized_words(recognizer.recognize(rest.first(end.length)), texts, window.begin);
    if (last) {
      join_words(last->words, window.words, {window.begin, last->end});
      tell(*last);
      last.reset();
    }
    begin += end.length;
    if (overlaps) {
      begin -= std::min(static_cast<size_t>(kSecondsOfOverlap * rate), most / 4);
      last = std::move(window);
    } else {
      tell(window);
    }
  }
  if (events.progress && !samples.empty()) events.progress(duration, duration);
  return result;
}

}  // namespace pippin::speech
