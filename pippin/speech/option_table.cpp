#include "pippin/speech/option_table.h"

#include <algorithm>

#include "pippin/base/error.h"
#include "pippin/speech/languages.h"

namespace pippin::speech {
namespace {

using Options = TranscribeOptions;

// clang-format off
const TranscribeOption known_options[] = {
  {"word_timestamps", nullptr, &Options::word_timestamps, "", "Find the times of words"},
  {"without_timestamps", nullptr, &Options::without_timestamps, "", "Without timestamps: one segment per window of 30 s"},
  {"initial_prompt", nullptr, &Options::initial_prompt, "TEXT", "Text before the first window: names, spellings, style"},
  {"carry_initial_prompt", nullptr, &Options::carry_initial_prompt, "", "Use it before each window"},
  {"hotwords", nullptr, &Options::hotwords, "TEXT", "Words before the previous text of each window"},
  {"batch_size", nullptr, &Options::batch_size, "N", "Windows to decode together; each begins and ends in a pause, without the text before it (1)"},
  {"condition_on_previous_text", nullptr, &Options::condition_on_previous_text, "BOOL", "Give a window the text of those before (true); false avoids repetition loops"},
  {"best_of", nullptr, &Options::best_of, "N", "Samples at temperatures above 0 (5)"},
  {"beam_size", nullptr, &Options::beam_size, "N", "Beams at temperature 0; 0: greedy (0)"},
  {"patience", nullptr, &Options::patience, "X", "The search ends when beam size * X texts are complete (1)"},
  {"length_penalty", nullptr, &Options::length_penalty, "X", "Divide scores by ((5 + length) / 6)^X (default: by the length)"},
  {"max_tokens", "max_new_tokens", &Options::max_tokens, "N", "Maximum number of tokens of a window; 0: half of the model's context (0)"},
  {"suppress_tokens", nullptr, &Options::suppress_tokens, "IDS", "Tokens that are never written, separated by commas; -1: the model's list (-1)"},
  {"suppress_blank", nullptr, &Options::suppress_blank, "BOOL", "A window's text does not begin with a space or its end (true)"},
  {"compression_ratio_threshold", nullptr, &Options::compression_ratio_threshold, "X", "A text that zlib compresses more has failed; none: any (2.4)"},
  {"logprob_threshold", "log_prob_threshold", &Options::logprob_threshold, "X", "A text with a lower average log-probability has failed; none: any (-1)"},
  {"no_speech_threshold", nullptr, &Options::no_speech_threshold, "X", "A failed window with a higher probability of no speech is silence; none (0.6)"},
  {"max_initial_timestamp", nullptr, &Options::max_initial_timestamp, "SECONDS", "Latest start of a window's first segment (1); below 0: any"},
  {"clip_timestamps", nullptr, &Options::clip_timestamps, "SECONDS", "Transcribe only these parts: START,END,START,END ...; the last END may be left out"},
  {"hallucination_silence_threshold", nullptr, &Options::hallucination_silence_threshold, "X", "Leave out improbable words between pauses of more seconds, with word timestamps (none)"},
  {"vad_filter", nullptr, &Options::vad_filter, "", "Leave out silence, found by a model of voice"},
  {"vad_threshold", nullptr, &Options::vad_threshold, "P", "Probability from which a window has voice (0.5)"},
  {"vad_min_speech_duration_ms", nullptr, &Options::vad_min_speech_duration_ms, "MS", "Leave out shorter voice (250)"},
  {"vad_max_speech_duration_s", nullptr, &Options::vad_max_speech_duration_s, "SECONDS", "Divide longer voice, at a pause if possible; none: any length (none)"},
  {"vad_min_silence_duration_ms", nullptr, &Options::vad_min_silence_duration_ms, "MS", "Shorter pauses do not divide voice (100)"},
  {"vad_speech_pad_ms", nullptr, &Options::vad_speech_pad_ms, "MS", "Sound to keep on both sides of voice (30)"},
  {"seed", nullptr, &Options::seed, "N", "Seed of the samples (0)"},
  {"prepend_punctuations", nullptr, &Options::prepend_punctuations, "MARKS", "Marks to join with the word after them, with word timestamps"},
  {"append_punctuations", nullptr, &Options::append_punctuations, "MARKS", "Marks to join with the word before them, with word timestamps"},
};
// clang-format on

}  // namespace

std::span<const TranscribeOption> transcribe_options() {
  return known_options;
}

void set_language(TranscribeOptions& options, std::string_view language) {
  options.language.reset();
  if (language == "auto") return;
  options.language = find_language(language);
  if (options.language) return;
  fail(ErrorCode::InvalidArgument,
       "language: '{}' is neither a language of Whisper's, such as German or de, nor auto",
       language);
}

void set_task(TranscribeOptions& options, std::string_view task) {
  if (task != "transcribe" && task != "translate") {
    fail(ErrorCode::InvalidArgument, "task: '{}' is neither transcribe nor translate", task);
  }
  options.task = task == "translate" ? Task::Translate : Task::Transcribe;
}

std::vector<double> fallback_temperatures(double first, double step) {
  constexpr double kLeastStep = 0.01;
  if (step != 0 && !(step >= kLeastStep)) {
    fail(ErrorCode::InvalidArgument,
         "temperature increment: {} is neither 0 nor a number from {} on", step, kLeastStep);
  }
  std::vector<double> temperatures = {first};
  if (step == 0) return temperatures;
  constexpr double kMost = 1 + 1e-6;
  for (int i = 1; first + i * step <= kMost; ++i) {
    temperatures.push_back(std::min(first + i * step, 1.0));
  }
  return temperatures;
}

}  // namespace pippin::speech
