// Segments of a transcription, cut from the tokens of a window at its timestamps.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/speech/special_tokens.h"
#include "pippin/speech/transcription.h"
#include "pippin/speech/window_decoder.h"
#include "pippin/tokenizers/tokenizer.h"

namespace pippin::speech {

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
