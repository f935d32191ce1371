// Times of words, from the attention of a model's alignment heads.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "pippin/speech/options.h"
#include "pippin/speech/segments.h"
#include "pippin/speech/special_tokens.h"
#include "pippin/speech/window_decoder.h"
#include "pippin/speech/words.h"

namespace pippin::speech {

// Sets times, from the start of the window, and probabilities of words, whose tokens together are
// the text. `attention` is that of `before` tokens, <|notimestamps|>, the text and
// <|endoftext|>; the first `positions` of it hold sound.
void set_word_times(std::vector<TokenWord>& words, const Alignment& attention, int64_t before,
                    int64_t positions, const SpecialTokens& tokens, double seconds_per_position);

// A window whose segments get words.
struct TimedWindow {
  SpeechModel& model;
  WindowDecoder& decoder;  // without tokens
  const Tokenizer& tokenizer;
  const SpecialTokens& tokens;
  std::vector<int32_t> start_tokens;
  std::string language;
  double offset = 0;       // seconds
  int64_t frames = 0;      // that hold sound
  double last_speech = 0;  // the end of the speech before the window, in seconds
};

// Adds words to the segments of a window, and moves the segments' times to those of their words.
void add_words(std::span<Segment> segments, TimedWindow window, const TranscribeOptions& options);

}  // namespace pippin::speech
