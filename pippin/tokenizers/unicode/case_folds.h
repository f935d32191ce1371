// Characters that are equal if case is ignored (Unicode's full case folding).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/tokenizers/unicode/code_points.h"

namespace pippin::tokenizers {

// Adds every character that equals one of the set without regard to case, one character for one.
CodePoints closed_under_case(const CodePoints& set);

// A sequence of characters that folds like a single character: "ss" like U+DF and U+1E9E.
struct LongFold {
  std::u32string sequence;           // two or three folded characters
  std::vector<char32_t> characters;  // in order
};
const std::vector<LongFold>& long_folds();
// Returns the fold of a character, or null.
const LongFold* long_fold_of(char32_t c);
// Returns the longest fold that begins `text` without regard to case, or null.
const LongFold* long_fold_at(std::u32string_view text);

}  // namespace pippin::tokenizers
