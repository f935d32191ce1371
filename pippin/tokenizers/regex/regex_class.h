// Parses character classes in brackets.
#pragma once

#include "pippin/tokenizers/regex/regex_reader.h"
#include "pippin/tokenizers/unicode/character_set.h"

namespace pippin::tokenizers {

struct BracketClass {
  CharacterSet set;      // before negation
  bool negated = false;  // by its own ^
};

// Parses a class after "[", up to the matching "]". Nested sets, [:names:] and && have Oniguruma's
// meaning.
BracketClass take_class(RegexReader& in, const AsciiTypes& ascii, int depth = 0);

}  // namespace pippin::tokenizers
