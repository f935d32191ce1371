// Ranges of a recording with voice, from the probabilities of its windows: the rules of Silero's
// get_speech_timestamps(), which whisper.cpp and faster-whisper share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "pippin/speech/options.h"

namespace pippin::speech {

struct SampleRange {
  size_t begin = 0, end = 0;

  size_t size() const { return end - begin; }
  friend bool operator==(const SampleRange&, const SampleRange&) = default;
};

// The windows of `recording` samples at `sampling_rate` and their probabilities.
struct VoiceWindows {
  std::span<const float> probabilities;
  size_t window = 0;     // samples
  size_t recording = 0;  // samples
  int64_t sampling_rate = 0;
};

// Voice begins with a window whose probability is at least options.vad_threshold, and ends when
// windows are below it by 0.15 for vad_min_silence_duration_ms. Ranges shorter than
// vad_min_speech_duration_ms are left out, longer ones than vad_max_speech_duration_s are divided
// at their last pause, or where the limit is. Each then grows by vad_speech_pad_ms on both sides,
// as far as the next one allows. The ranges are in order and do not overlap.
std::vector<SampleRange> voice_ranges(const VoiceWindows& windows,
                                      const TranscribeOptions& options);

}  // namespace pippin::speech
