// Options of a transcription, with the names and defaults of OpenAI's whisper.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pippin/base/export.h"

namespace pippin::speech {

// The output: the text in the spoken language, or its translation into English.
enum class Task : uint8_t { Transcribe, Translate };

// Options of a transcription.
struct PIPPIN_API TranscribeOptions {
  std::optional<std::string> language;  // a code ("de"); none: detected in the first window
  Task task = Task::Transcribe;         // whether to translate

  // --- decoding of a window ---

  // Tried in order until a window's text is good enough.
  std::vector<double> temperatures = {0, 0.2, 0.4, 0.6, 0.8, 1};
  int64_t beam_size = 0;  // beams at temperature 0; 0: greedy
  double patience = 1;    // beam_size * patience finished texts end the search
  int64_t best_of = 5;    // samples at temperatures above 0
  // Scores are divided by ((5 + length) / 6)^length_penalty; none: by the length.
  std::optional<double> length_penalty;
  int64_t max_tokens = 0;  // per window; 0: half of the model's context
  // Tokens that are never written; -1 stands for the model's list.
  std::vector<int32_t> suppress_tokens = {-1};
  bool suppress_blank = true;          // a window's text does not begin with a space or its end
  bool without_timestamps = false;     // one segment per window
  double max_initial_timestamp = 1.0;  // seconds; below 0: any
  uint64_t seed = 0;                   // of the samples

  // --- judgement of a window; none: not judged ---

  // A text that zlib compresses more is too repetitive.
  std::optional<double> compression_ratio_threshold = 2.4;
  // A text whose tokens have a lower average log-probability has failed.
  std::optional<double> logprob_threshold = -1.0;
  // A failed window with a higher probability of no speech is silence.
  std::optional<double> no_speech_threshold = 0.6;

  // --- the text before a window ---

  bool condition_on_previous_text = true;  // a window gets the text of those before
  std::string initial_prompt;              // before the first window: names, spellings, style
  bool carry_initial_prompt = false;       // for each window, not only the first
  std::string hotwords;                    // before the previous text of each window
  // Above 1: so many windows are decoded together. Each begins and ends in a pause and has no text
  // before it but the initial prompt. Needs greedy decoding (no beams, first temperature 0).
  int64_t batch_size = 1;

  // --- silence, found by a model of voice ---

  bool vad_filter = false;     // leaves out the parts without voice; needs such a model
  double vad_threshold = 0.5;  // a window with a lower probability has no voice
  // Shorter voice is left out.
  double vad_min_speech_duration_ms = 250;
  // Longer voice is divided, at a pause if it has one; none: any length.
  std::optional<double> vad_max_speech_duration_s;
  // Shorter pauses do not divide voice.
  double vad_min_silence_duration_ms = 100;
  double vad_speech_pad_ms = 30;  // added on both sides of voice

  // --- words and places ---

  bool word_timestamps = false;  // finds the times of words
  // Marks to join with the word after them.
  std::string prepend_punctuations = "\"'“¿([{-";
  // Marks to join with the word before them.
  std::string append_punctuations = "\"'.。,，!！?？:：”)]}、";
  // Improbable words between pauses that are longer than this, in seconds, are left out. Needs
  // word_timestamps.
  std::optional<double> hallucination_silence_threshold;
  // Pairs of start and end in seconds; the last end may be left out.
  std::vector<double> clip_timestamps;

  // Whether an option of silence other than vad_filter is not at its default.
  bool has_silence_rules() const;
  // Throws InvalidArgument for values out of range.
  void check() const;
};

}  // namespace pippin::speech
