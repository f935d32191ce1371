// Segments of a transcription, cut from the tokens of a window at its timestamps.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/speech/special_tokens.h"
#include "pippin/speech/window_decoder.h"
#include "pippin/tokenizers/tokenizer.h"

namespace pippin::speech {

struct Word {
  std::string text;           // with the space before it
  double start = 0, end = 0;  // seconds
  double probability = 0;     // the mean of its tokens'
};

struct Segment {
  int64_t id = 0;
  int64_t seek = 0;           // the first frame of its window
  double start = 0, end = 0;  // seconds
  std::string text;           // with the space before it
  std::vector<int32_t> tokens;
  double temperature = 0;
  double avg_logprob = 0;
  double compression_ratio = 0;
  double no_speech_prob = 0;  // NaN if the model has no token for it
  std::vector<Word> words;
};

// Returns the text of the text tokens among `ids`, without special tokens and timestamps.
std::string decode_text(const Tokenizer& tokenizer, const SpecialTokens& tokens,
                        std::span<const int32_t> ids);

// Returns the tokens of a text that the model may have written before: after a space.
std::vector<int32_t> prompt_tokens(const Tokenizer& tokenizer, std::string_view text);

// Returns a text without white space (ASCII) at its ends.
std::string_view trimmed(std::string_view text);

// Returns seconds rounded to hundredths, the resolution of frames.
double round_time(double seconds);

// A part of a window's tokens.
struct TokenSpan {
  size_t begin = 0, end = 0;
  int64_t start_frame = 0, end_frame = 0;  // from the start of the window
};

struct WindowCut {
  std::vector<TokenSpan> spans;
  int64_t next_frame = 0;             // where the next window starts, from the start of this one
  bool ends_after_timestamp = false;  // the text ends in a single timestamp: no speech follows
};

// Cuts the tokens of a window of `frames` frames between consecutive timestamps. Text after the
// last pair is left to the next window, unless a single timestamp ends it.
WindowCut cut_window(std::span<const int32_t> ids, const SpecialTokens& tokens,
                     const WindowShape& shape, int64_t frames);

}  // namespace pippin::speech
