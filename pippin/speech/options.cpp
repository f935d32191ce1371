#include "pippin/speech/options.h"

#include <cmath>

#include "pippin/base/error.h"

namespace pippin::speech {
namespace {

void check_between(const char* name, double value, double least, double most) {
  if (value >= least && value <= most) return;
  fail(ErrorCode::InvalidArgument, "{} is {}, not a number from {} to {}", name, value, least,
       most);
}

}  // namespace

bool TranscribeOptions::has_silence_rules() const {
  const TranscribeOptions usual;
  return vad_threshold != usual.vad_threshold ||
         vad_min_speech_duration_ms != usual.vad_min_speech_duration_ms ||
         vad_max_speech_duration_s != usual.vad_max_speech_duration_s ||
         vad_min_silence_duration_ms != usual.vad_min_silence_duration_ms ||
         vad_speech_pad_ms != usual.vad_speech_pad_ms;
}

void TranscribeOptions::check() const {
  if (temperatures.empty()) fail(ErrorCode::InvalidArgument, "there is no temperature");
  for (const double temperature : temperatures) check_between("temperature", temperature, 0, 100);
  constexpr int64_t kMostSequences = 64;
  check_between("beam_size", static_cast<double>(beam_size), 0, kMostSequences);
  check_between("batch_size", static_cast<double>(batch_size), 1, kMostSequences);
  if (batch_size > 1 && (beam_size > 0 || temperatures.front() > 0)) {
    fail(ErrorCode::InvalidArgument,
         "batch_size above 1 needs greedy decoding: no beams, and temperature 0 first");
  }
  check_between("best_of", static_cast<double>(best_of), 1, kMostSequences);
  if (!(patience > 0 && patience <= 100)) {
    fail(ErrorCode::InvalidArgument, "patience is {}, not a number above 0, up to 100", patience);
  }
  if (length_penalty) check_between("length_penalty", *length_penalty, 0, 1);
  if (max_tokens < 0) fail(ErrorCode::InvalidArgument, "max_tokens is {}, below 0", max_tokens);
  if (!std::isfinite(max_initial_timestamp)) {
    fail(ErrorCode::InvalidArgument, "max_initial_timestamp is not a finite number");
  }
  if (hallucination_silence_threshold) {
    check_between("hallucination_silence_threshold", *hallucination_silence_threshold, 0, 1e6);
    if (!word_timestamps) {
      fail(ErrorCode::InvalidArgument, "hallucination_silence_threshold needs word_timestamps");
    }
  }
  if (has_silence_rules() && !vad_filter) {
    fail(ErrorCode::InvalidArgument, "options of silence (vad_...) need vad_filter");
  }
  check_between("vad_threshold", vad_threshold, 0, 1);
  constexpr double kMostSeconds = 1e6;
  constexpr double kMostMilliseconds = 1000 * kMostSeconds;
  check_between("vad_min_speech_duration_ms", vad_min_speech_duration_ms, 0, kMostMilliseconds);
  check_between("vad_min_silence_duration_ms", vad_min_silence_duration_ms, 0, kMostMilliseconds);
  check_between("vad_speech_pad_ms", vad_speech_pad_ms, 0, kMostMilliseconds);
  if (vad_max_speech_duration_s) {
    check_between("vad_max_speech_duration_s", *vad_max_speech_duration_s, 0.1, kMostSeconds);
  }
  double last = 0;
  for (const double time : clip_timestamps) {
    if (!(time >= last) || !std::isfinite(time)) {
      fail(ErrorCode::InvalidArgument, "clip_timestamps: {} follows {}: times must not decrease",
           time, last);
    }
    last = time;
  }
}

}  // namespace pippin::speech
