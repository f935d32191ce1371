// Words and segments of recognized tokens.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "pippin/speech/recognition/recognizer.h"
#include "pippin/speech/segments.h"

namespace pippin::speech {

// Returns the bytes that a token adds to a text, with the space before a word; none for special
// tokens and ids without a token.
using TokenTexts = std::function<std::string(int32_t id)>;

struct RecognizedWord {
  Word word;                    // times in seconds of the recording, not rounded
  std::vector<int32_t> tokens;  // with those of the spaces around it
  double log_probability = 0;   // the sum of its tokens'
};

// Returns the words of a window that starts at `offset` seconds, without special tokens. A word
// begins at a space and, in scripts without spaces between words (Chinese, Japanese, Thai, Lao,
// Khmer, Burmese), at each token that begins with a letter of them. The window's first word is a
// word of its own, after a space.
std::vector<RecognizedWord> recognized_words(std::span<const RecognizedToken> tokens,
                                             const TokenTexts& texts, double offset);

// Pauses of at least so many seconds end a segment.
inline constexpr double kPauseOfSegments = 0.6;

// Returns the segments of a window's words: a segment ends with a sentence (. ! ? and their like),
// and at pauses. If `splits` is false, all words are one segment. The ids of segments count from
// `first_id`.
std::vector<Segment> recognized_segments(std::span<const RecognizedWord> words, bool splits,
                                         bool with_words, double offset, int64_t first_id);

}  // namespace pippin::speech
