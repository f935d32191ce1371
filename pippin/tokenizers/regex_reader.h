// Reads a pattern in Oniguruma's syntax: what classes and expressions have in common.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "pippin/tokenizers/character_names.h"
#include "pippin/tokenizers/character_set.h"

namespace pippin::tokenizers {

// Which types hold ASCII characters only: the options W, D, S and P.
struct AsciiTypes {
  bool word = false, digit = false, space = false, all = false;
};

class RegexReader {
 public:
  RegexReader(std::string_view pattern, std::string_view place) : in_(pattern), place_(place) {}

  bool at_end() const { return i_ >= in_.size(); }
  // '\0' past the end.
  char peek() const { return at_end() ? '\0' : in_[i_]; }
  std::string_view rest() const { return in_.substr(i_); }
  bool take(std::string_view text);
  char32_t take_character();
  // Nothing where there is no digit; the largest int for more than that.
  std::optional<int> take_number();

  // Throws Unsupported: "{place}: in a pattern, {what} (at byte 7) is not supported".
  [[noreturn]] void refuse(std::string_view what) const;

  // After a backslash: the character that is spelled there, in one of many ways.
  char32_t take_escaped_character();

  // A type or a property.
  struct SetEscape {
    std::optional<CharacterType> type;
    CharacterSet set;
    bool negated;
  };
  // After a backslash: \w \d \s \h \p{...} and their opposites; nothing for anything else.
  std::optional<SetEscape> take_set_escape();

 private:
  uint64_t take_digits(uint64_t base, size_t least, size_t most);
  char32_t take_braced_code_point(uint64_t base, size_t most);
  char32_t take_bytes(uint64_t base);
  uint64_t take_byte(uint64_t base);
  char32_t take_control_value();
  char32_t checked(uint64_t code_point) const;

  std::string_view in_;
  std::string_view place_;
  size_t i_ = 0;
};

// The set of a type as the options leave it.
CharacterSet limited(const CharacterSet& set, std::optional<CharacterType> type,
                     const AsciiTypes& ascii);

}  // namespace pippin::tokenizers
