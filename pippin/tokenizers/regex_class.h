// A class in brackets.
#pragma once

#include "pippin/tokenizers/character_set.h"
#include "pippin/tokenizers/regex_reader.h"

namespace pippin::tokenizers {

struct BracketClass {
  CharacterSet set;      // without regard to ^
  bool negated = false;  // by a ^ of its own
};

// After "[": up to the "]" that belongs to it. Sets in sets, [:names:] and && have Oniguruma's
// meaning.
BracketClass take_class(RegexReader& in, const AsciiTypes& ascii, int depth = 0);

}  // namespace pippin::tokenizers
