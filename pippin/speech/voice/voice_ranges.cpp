#include "pippin/speech/voice/voice_ranges.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace pippin::speech {
namespace {

constexpr double kBelowThreshold = 0.15;  // of the windows that end voice
constexpr double kLeastThreshold = 0.01;

// The ranges before they grow.
class VoiceScan {
 public:
  VoiceScan(const VoiceWindows& windows, const TranscribeOptions& options)
      : windows_(windows),
        threshold_(options.vad_threshold),
        lower_(std::max(threshold_ - kBelowThreshold, kLeastThreshold)),
        min_silence_(samples_of(options.vad_min_silence_duration_ms / 1000)),
        min_speech_(samples_of(options.vad_min_speech_duration_ms / 1000)),
        max_speech_(options.vad_max_speech_duration_s
                        ? std::max(samples_of(*options.vad_max_speech_duration_s), windows.window)
                        : SIZE_MAX) {}

  std::vector<SampleRange> scan() {
    for (size_t i = 0; i < windows_.probabilities.size(); ++i) {
      take(i * windows_.window, windows_.probabilities[i]);
    }
    if (begin_) close(quiet_.value_or(windows_.recording));
    return ranges_;
  }

 private:
  size_t samples_of(double seconds) const {
    return static_cast<size_t>(std::llround(seconds * static_cast<double>(windows_.sampling_rate)));
  }

  void take(size_t place, double probability) {
    const bool is_voice = probability >= threshold_;
    if (!begin_) {
      if (is_voice) begin_ = place;
      return;
    }
    if (is_voice) {
      if (quiet_) pause_ = SampleRange{*quiet_, place};
      quiet_.reset();
    } else if (probability < lower_ && !quiet_) {
      quiet_ = place;
    }
    if (quiet_ && place + windows_.window - *quiet_ >= std::max<size_t>(min_silence_, 1)) {
      close(*quiet_);
      return;
    }
    // The window would make the range too long.
    if (place + windows_.window - *begin_ <= max_speech_) return;
    if (pause_ && pause_->begin > *begin_) {
      const SampleRange pause = *pause_;
      close(pause.begin);
      begin_ = pause.end;
    } else {
      close(place);
      begin_ = place;
    }
  }

  void close(size_t end) {
    end = std::min(end, windows_.recording);
    if (end > *begin_ && end - *begin_ >= min_speech_) ranges_.push_back({*begin_, end});
    begin_.reset();
    quiet_.reset();
    pause_.reset();
  }

  const VoiceWindows& windows_;
  double threshold_, lower_;
  size_t min_silence_, min_speech_, max_speech_;
  std::vector<SampleRange> ranges_;
  std::optional<size_t> begin_;       // of voice
  std::optional<size_t> quiet_;       // the first quiet window after it
  std::optional<SampleRange> pause_;  // the last one in it that was too short to end it
};

}  // namespace

std::vector<SampleRange> voice_ranges(const VoiceWindows& windows,
                                      const TranscribeOptions& options) {
  std::vector<SampleRange> ranges = VoiceScan(windows, options).scan();
  const auto pad = static_cast<size_t>(
      std::llround(options.vad_speech_pad_ms / 1000 * static_cast<double>(windows.sampling_rate)));
  for (size_t i = 0; i < ranges.size(); ++i) {
    SampleRange& range = ranges[i];
    if (i == 0) range.begin -= std::min(pad, range.begin);
    if (i + 1 == ranges.size()) {
      range.end += std::min(pad, windows.recording - range.end);
    } else {
      const size_t gap = ranges[i + 1].begin - range.end;
      range.end += std::min(pad, gap / 2);
      ranges[i + 1].begin -= std::min(pad, gap - gap / 2);
    }
  }
  return ranges;
}

}  // namespace pippin::speech
