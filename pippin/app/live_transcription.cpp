#include "pippin/app/live_transcription.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "pippin/base/error.h"
#include "pippin/speech/recognition/window_length.h"
#include "pippin/speech/segments.h"

namespace pippin::app {
namespace {

constexpr double kPause = 0.6, kLeastPiece = 1, kLongestPiece = 30;  // seconds
constexpr double kQuiet = 0.1;  // of the loudest tenth of a second, as amplitudes
// The text that the next piece gets, as a window of a whole recording gets that of those before.
constexpr size_t kMostContext = 1000;

speech::TranscribeOptions checked_live(speech::TranscribeOptions options) {
  if (!options.clip_timestamps.empty()) {
    fail(ErrorCode::InvalidArgument, "clip_timestamps: need a whole recording, not a stream");
  }
  return options;
}

std::string_view last_text(std::string_view text) {
  if (text.size() <= kMostContext) return text;
  const size_t space = text.find(' ', text.size() - kMostContext);
  return space == text.npos ? std::string_view() : text.substr(space);
}

}  // namespace

size_t last_pause(std::span<const float> samples, int64_t sampling_rate) {
  const auto tenth = static_cast<size_t>(sampling_rate / 10);
  const auto pause = static_cast<size_t>(kPause * static_cast<double>(sampling_rate));
  const auto least = static_cast<size_t>(kLeastPiece * static_cast<double>(sampling_rate));
  if (tenth == 0 || samples.size() < least + pause) return 0;
  const auto loudest = [&](std::span<const float> part) {
    double most = 0;
    for (size_t begin = 0; begin + tenth <= part.size(); begin += tenth) {
      double energy = 0;
      for (const float sample : part.subspan(begin, tenth)) {
        energy += static_cast<double>(sample) * sample;
      }
      most = std::max(most, energy);
    }
    return std::sqrt(most);
  };
  const double sound = loudest(samples.first(samples.size() - pause));
  if (sound == 0 || loudest(samples.last(pause)) > kQuiet * sound) return 0;
  return samples.size() - pause / 2;
}

LiveTranscription::LiveTranscription(const SpeechToText& model, speech::TranscribeOptions options,
                                     speech::Events events)
    : model_(model),
      options_(checked_live(std::move(options))),
      events_(std::move(events)),
      rate_(model.sampling_rate()),
      most_(static_cast<size_t>(kLongestPiece * static_cast<double>(rate_))) {
  model_.check(options_);
  result_.task = options_.task;
  result_.language = options_.language.value_or("");
}

void LiveTranscription::add(std::span<const float> samples) {
  samples_.insert(samples_.end(), samples.begin(), samples.end());
  // A second more than a piece leaves a choice of where to cut.
  const auto more = static_cast<size_t>(rate_);
  while (samples_.size() >= most_ + more) {
    transcribe_first(speech::window_length(samples_, most_, rate_));
  }
  if (const size_t end = last_pause(samples_, rate_); end > 0) transcribe_first(end);
}

speech::Transcription LiveTranscription::finish() {
  if (!samples_.empty()) transcribe_first(samples_.size());
  result_.duration = static_cast<double>(done_) / static_cast<double>(rate_);
  if (events_.progress) events_.progress(result_.duration, result_.duration);
  return std::move(result_);
}

void LiveTranscription::transcribe_first(size_t count) {
  const double offset = static_cast<double>(done_) / static_cast<double>(rate_);
  constexpr double kSeeksPerSecond = 100;
  const auto shift = [&](speech::Segment segment) {
    segment.id = std::ssize(result_.segments);
    segment.seek += std::llround(offset * kSeeksPerSecond);
    segment.start = speech::round_time(segment.start + offset);
    segment.end = speech::round_time(segment.end + offset);
    for (speech::Word& word : segment.words) {
      word.start = speech::round_time(word.start + offset);
      word.end = speech::round_time(word.end + offset);
    }
    return segment;
  };
  speech::Events events;
  if (result_.language.empty()) events.detected = events_.detected;
  events.segment = [&](const speech::Segment& segment) {
    result_.segments.push_back(shift(segment));
    if (events_.segment) events_.segment(result_.segments.back());
  };
  const speech::Transcription piece =
      model_.transcribe(std::span(samples_).first(count), options_, events);
  result_.text += piece.text;
  result_.language = piece.language;
  if (model_.knows_languages()) {
    if (!piece.language.empty()) options_.language = piece.language;
    if (options_.condition_on_previous_text && !options_.carry_initial_prompt) {
      options_.initial_prompt = last_text(result_.text);
    }
  }
  samples_.erase(samples_.begin(), samples_.begin() + static_cast<std::ptrdiff_t>(count));
  done_ += count;
}

}  // namespace pippin::app
