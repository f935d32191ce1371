// Which characters are alike where case does not count (Unicode's full case folding).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/tokenizers/code_points.h"

namespace pippin::tokenizers {

// With all that any of them is alike to, one character for one.
CodePoints closed_under_case(const CodePoints& set);

// Several characters that are alike to a single one: "ss" to U+DF and U+1E9E.
struct LongFold {
  std::u32string sequence;           // of two or three, folded
  std::vector<char32_t> characters;  // in order
};
const std::vector<LongFold>& long_folds();
// The one that a character is alike to, or null.
const LongFold* long_fold_of(char32_t c);
// The longest that a text begins with, case not counting, or null.
const LongFold* long_fold_at(std::u32string_view text);

}  // namespace pippin::tokenizers
