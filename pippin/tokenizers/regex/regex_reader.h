// Reads a pattern in Oniguruma's syntax; shared by classes and expressions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "pippin/tokenizers/unicode/character_names.h"
#include "pippin/tokenizers/unicode/character_set.h"

namespace pippin::tokenizers {

// The types that are limited to ASCII characters, by the options W, D, S and P.
struct AsciiTypes {
  bool word = false, digit = false, space = false, all = false;
};

class RegexReader {
 public:
  RegexReader(std::string_view pattern, std::string_view place) : in_(pattern), place_(place) {}

  bool at_end() const { return i_ >= in_.size(); }
  // Returns '\0' at the end.
  char peek() const { return at_end() ? '\0' : in_[i_]; }
  std::string_view rest() const { return in_.substr(i_); }
  bool take(std::string_view text);
  char32_t take_character();
  // Returns nothing without a digit, and the largest int for larger numbers.
  std::optional<int> take_number();

  // Throws Unsupported: "{place}: in a pattern, {what} (at byte 7) is not supported".
  [[noreturn]] void refuse(std::string_view what) const;

  // Parses a character after a backslash, in any of its notations.
  char32_t take_escaped_character();

  // A type or a property.
  struct SetEscape {
    std::optional<CharacterType> type;
    CharacterSet set;
    bool negated;
  };
  // Parses \w \d \s \h \p{...} and their complements after a backslash; returns nothing for other
  // escapes.
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

// Returns the set of a type, limited to ASCII if the options say so.
CharacterSet limited(const CharacterSet& set, std::optional<CharacterType> type,
                     const AsciiTypes& ascii);

}  // namespace pippin::tokenizers
