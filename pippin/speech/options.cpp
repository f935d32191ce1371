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

void TranscribeOptions::check() const {
  if (temperatures.empty()) fail(ErrorCode::InvalidArgument, "there is no temperature");
  for (const double temperature : temperatures) check_between("temperature", temperature, 0, 100);
  constexpr int64_t kMostSequences = 64;
  check_between("beam_size", static_cast<double>(beam_size), 0, kMostSequences);
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
