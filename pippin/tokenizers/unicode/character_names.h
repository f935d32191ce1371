// Oniguruma's names for sets of characters: \w, [:alpha:], \p{Script=...} and so on.
#pragma once

#include <optional>
#include <string_view>

#include "pippin/tokenizers/unicode/character_set.h"

namespace pippin::tokenizers {

enum class CharacterType {
  Alnum,
  Alpha,
  Ascii,
  Blank,
  Cntrl,
  Digit,
  Graph,
  Lower,
  Print,
  Punct,
  Space,
  Upper,
  Word,
  XDigit
};

// "alpha" as in [:alpha:].
std::optional<CharacterType> type_named(std::string_view name);
CharacterSet set_of(CharacterType type);

// The set that \w matches outside brackets, which includes the Latin-1 numbers that are not decimal
// digits.
CharacterSet bare_word();

// Returns the set of \p{name}: a type, a general category, a script, a binary property, or a block
// ("InCyrillic"). Case, spaces, '_' and '-' are ignored.
struct NamedSet {
  std::optional<CharacterType> type;
  CharacterSet set;
};
std::optional<NamedSet> property_named(std::string_view name);

}  // namespace pippin::tokenizers
