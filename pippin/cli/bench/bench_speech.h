// pippin bench for models of speech: a window of sound, its encoder and its decoder apart.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pippin/app/open/open_model.h"
#include "pippin/cli/bench/measured_run.h"

namespace pippin::cli {

struct SpeechBench {
  std::string name;
  app::ModelChoice choice;  // resolved
  int repetitions = 5;
  int64_t tokens = 128;  // of the decoder, at most its context
  uint64_t seed = 1;
};

struct SpeechReport {
  MeasuredRun run;
  int repetitions = 0;
  uint64_t seed = 0;
  double window_seconds = 0;    // of sound
  int64_t tokens = 0;           // 0: the model has no decoder of its own
  std::vector<double> encoder;  // seconds for a window; without a decoder, for all of it
  std::vector<double> decoder;  // seconds for `tokens` tokens

  // Medians.
  double encoder_seconds() const;
  double token_seconds() const;
  // Seconds of computation for a second of sound, with `tokens` tokens.
  double real_time_factor() const;
};

// Throws the errors of opening the model. Sound and tokens come from the seed.
SpeechReport bench_speech(const SpeechBench& bench);

std::string speech_lines(const SpeechReport& report);
std::string speech_json(const SpeechReport& report);

}  // namespace pippin::cli
