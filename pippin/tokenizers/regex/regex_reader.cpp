#include "pippin/tokenizers/regex/regex_reader.h"

#include <algorithm>
#include <limits>
#include <string>

#include "pippin/base/error.h"
#include "pippin/base/text.h"

namespace pippin::tokenizers {
namespace {

// Returns the value of a digit, or `base` if `c` is not a digit.
uint64_t digit_value(char c, uint64_t base) {
  uint64_t value = base;
  if (c >= '0' && c <= '9') value = static_cast<uint64_t>(c - '0');
  if (c >= 'a' && c <= 'f') value = static_cast<uint64_t>(c - 'a') + 10;
  if (c >= 'A' && c <= 'F') value = static_cast<uint64_t>(c - 'A') + 10;
  return value < base ? value : base;
}

}  // namespace

void RegexReader::refuse(std::string_view what) const {
  fail(ErrorCode::Unsupported, "{}: in a pattern, {} (at byte {}) is not supported", place_, what,
       i_);
}

bool RegexReader::take(std::string_view text) {
  if (!rest().starts_with(text)) return false;
  i_ += text.size();
  return true;
}

char32_t RegexReader::take_character() {
  if (at_end()) refuse("an end in the middle of something");
  return decode_utf8(in_, i_);
}

std::optional<int> RegexReader::take_number() {
  constexpr int64_t kMost = std::numeric_limits<int>::max();
  if (digit_value(peek(), 10) == 10) return std::nullopt;
  int64_t number = 0;
  for (; digit_value(peek(), 10) < 10; ++i_) {
    number = std::min(10 * number + static_cast<int64_t>(digit_value(peek(), 10)), kMost);
  }
  return static_cast<int>(number);
}

uint64_t RegexReader::take_digits(uint64_t base, size_t least, size_t most) {
  uint64_t number = 0;
  size_t count = 0;
  for (; count < most && digit_value(peek(), base) < base; ++count, ++i_) {
    number = number * base + digit_value(peek(), base);
  }
  if (count < least) refuse("an escape with too few digits");
  return number;
}

char32_t RegexReader::checked(uint64_t code_point) const {
  if (code_point > kLastCodePoint || (code_point >= 0xD800 && code_point <= 0xDFFF)) {
    refuse(fmt::format("the code point {:X}", code_point));
  }
  return static_cast<char32_t>(code_point);
}

char32_t RegexReader::take_braced_code_point(uint64_t base, size_t most) {
  const uint64_t value = take_digits(base, 1, most);
  if (!take("}")) refuse("more than one code point in braces");
  return checked(value);
}

// A character may be written byte by byte.
char32_t RegexReader::take_bytes(uint64_t base) {
  std::string bytes(1, static_cast<char>(take_byte(base)));
  while (complete_utf8_prefix(bytes) == 0) {
    const bool octal = rest().size() > 1 && peek() == '\\' && digit_value(rest()[1], 8) < 8;
    if (base == 16 ? !take("\\x") : !octal) break;
    if (base == 8) i_ += 1;
    bytes += static_cast<char>(take_byte(base));
  }
  if (!is_valid_utf8(bytes)) refuse("a byte that begins no character");
  size_t at = 0;
  return decode_utf8(bytes, at);
}

uint64_t RegexReader::take_byte(uint64_t base) {
  const uint64_t value = base == 16 ? take_digits(16, 0, 2) : take_digits(8, 1, 3);
  if (value > 0xFF) refuse("a byte above \\377");
  return value;
}

char32_t RegexReader::take_control_value() {
  return take("\\") ? take_escaped_character() : take_character();
}

char32_t RegexReader::take_escaped_character() {
  if (at_end()) refuse("a backslash at the end");
  if (digit_value(peek(), 8) < 8) return take_bytes(8);
  if (take("x{")) return take_braced_code_point(16, 8);
  if (take("x")) return take_bytes(16);
  if (take("o{")) return take_braced_code_point(8, 11);
  if (take("u")) return checked(take_digits(16, 4, 4));
  if (take("c?") || take("C-?")) return 0x7F;
  if (take("c") || take("C-")) return take_control_value() & 0x9F;
  if (take("M-")) return (take_control_value() & 0xFF) | 0x80;
  if (peek() == 'C' || peek() == 'M') refuse("an escape without its '-'");
  const char32_t c = take_character();
  switch (c) {
    case 'a':
      return '\a';
    case 'b':
      return '\b';
    case 'e':
      return 0x1B;
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    case 'v':
      return '\v';
    default:
      return c;
  }
}

std::optional<RegexReader::SetEscape> RegexReader::take_set_escape() {
  const auto type = [](CharacterType which, bool negated) {
    return SetEscape{which, set_of(which), negated};
  };
  if (take("w")) return type(CharacterType::Word, false);
  if (take("W")) return type(CharacterType::Word, true);
  if (take("d")) return type(CharacterType::Digit, false);
  if (take("D")) return type(CharacterType::Digit, true);
  if (take("s")) return type(CharacterType::Space, false);
  if (take("S")) return type(CharacterType::Space, true);
  if (take("h")) return type(CharacterType::XDigit, false);
  if (take("H")) return type(CharacterType::XDigit, true);
  bool negated = peek() == 'P';
  if (!take("p{") && !take("P{")) return std::nullopt;
  if (take("^")) negated = !negated;
  const size_t size = rest().find('}');
  if (size == std::string_view::npos) refuse("a property without an end");
  const std::string_view name = rest().substr(0, size);
  auto named = property_named(name);
  if (!named) refuse(fmt::format("the property '{}'", name));
  i_ += size + 1;
  return SetEscape{named->type, std::move(named->set), negated};
}

CharacterSet limited(const CharacterSet& set, std::optional<CharacterType> type,
                     const AsciiTypes& ascii) {
  if (!type) return set;
  const bool only_ascii = ascii.all || (ascii.word && *type == CharacterType::Word) ||
                          (ascii.digit && *type == CharacterType::Digit) ||
                          (ascii.space && *type == CharacterType::Space);
  return only_ascii ? set & CharacterSet(0, 0x7F) : set;
}

}  // namespace pippin::tokenizers
