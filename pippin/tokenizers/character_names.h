// The names that Oniguruma has for sets of characters: \w, [:alpha:], \p{Script=...} and so on.
#pragma once

#include <optional>
#include <string_view>

#include "pippin/tokenizers/character_set.h"

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

// What \w matches outside of brackets: with the numbers of Latin-1 that are no decimal digits.
CharacterSet bare_word();

// What \p{name} may name: a type, a general category, a script, a binary property, or a block
// ("InCyrillic"). Case, spaces, '_' and '-' do not count.
struct NamedSet {
  std::optional<CharacterType> type;
  CharacterSet set;
};
std::optional<NamedSet> property_named(std::string_view name);

}  // namespace pippin::tokenizers
