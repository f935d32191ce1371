#include "pippin/tokenizers/tables/table_scanner.h"

#include <array>
#include <charconv>

#include "pippin/base/text.h"
#include "pippin/tokenizers/tables/serde_number.h"

namespace pippin::tokenizers {
namespace {

enum class Kind : uint8_t { Plain, Wide, Quote, Escape, Control };

// The meaning of a byte inside a string.
constexpr std::array<Kind, 256> kKinds = [] {
  std::array<Kind, 256> kinds{};
  for (size_t c = 0; c < 256; ++c) {
    kinds[c] = c < 0x20 ? Kind::Control : c < 0x80 ? Kind::Plain : Kind::Wide;
  }
  kinds['"'] = Kind::Quote;
  kinds['\\'] = Kind::Escape;
  return kinds;
}();

Kind kind_of(char c) {
  return kKinds[static_cast<unsigned char>(c)];
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_space(char c) {
  return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

// Most non-ASCII characters in vocabularies have two bytes.
bool is_two_byte_character(char lead, char next) {
  const auto first = static_cast<unsigned char>(lead), second = static_cast<unsigned char>(next);
  return first >= 0xC2 && first <= 0xDF && (second & 0xC0) == 0x80;
}

// Returns the character of a two-character escape, or 0.
char short_escape(char c) {
  switch (c) {
    case '"':
    case '\\':
    case '/':
      return c;
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    default:
      return 0;
  }
}

// Returns the end of a JSON number, or null.
const char* number_end(const char* at, const char* end) {
  const auto digits = [&] {
    const char* const from = at;
    while (at != end && is_digit(*at)) ++at;
    return at != from;
  };
  if (at != end && *at == '-') ++at;
  const bool zero = at != end && *at == '0';
  if (zero) ++at;
  if (!zero && !digits()) return nullptr;
  if (at != end && *at == '.') {
    ++at;
    if (!digits()) return nullptr;
  }
  if (at != end && (*at == 'e' || *at == 'E')) {
    ++at;
    if (at != end && (*at == '+' || *at == '-')) ++at;
    if (!digits()) return nullptr;
  }
  return at;
}

}  // namespace

bool TableScanner::is_next(char c) {
  while (at_ != end_ && is_space(*at_)) ++at_;
  return at_ != end_ && *at_ == c;
}

bool TableScanner::take(char c) {
  const bool here = at_ != end_ && *at_ == c;  // usually no space precedes it, which avoids the
                                               // scan
  if (!here && !is_next(c)) return false;
  ++at_;
  return true;
}

bool TableScanner::take_text(std::string_view& text) {
  if (!take('"')) return false;
  const char* const from = at_;
  bool wide = false;
  for (; at_ != end_; ++at_) {
    const Kind kind = kind_of(*at_);
    if (kind == Kind::Plain) continue;
    if (kind != Kind::Wide) break;
    if (end_ - at_ > 1 && is_two_byte_character(at_[0], at_[1])) {
      ++at_;
    } else {
      wide = true;  // validated as UTF-8 at the end
    }
  }
  if (at_ == end_ || *at_ != '"') return escaped_text(from, text);
  text = {from, static_cast<size_t>(at_ - from)};
  ++at_;
  return !wide || is_valid_utf8(text);
}

bool TableScanner::escaped_text(const char* from, std::string_view& text) {
  scratch_.assign(from, at_);
  while (at_ != end_ && *at_ != '"') {
    if (kind_of(*at_) == Kind::Control) return false;
    if (*at_ != '\\') {
      scratch_ += *at_++;
    } else if (!escape()) {
      return false;
    }
  }
  if (at_ == end_) return false;
  ++at_;
  text = scratch_;
  return is_valid_utf8(scratch_);
}

bool TableScanner::escape() {
  if (left() < 2) return false;
  if (const char c = short_escape(at_[1]); c != 0) {
    scratch_ += c;
    at_ += 2;
    return true;
  }
  // Parses \u and four digits; `low` is the second half of a surrogate pair.
  const auto unit = [&](uint32_t& value) {
    constexpr std::ptrdiff_t kLength = 6;
    if (end_ - at_ < kLength || at_[0] != '\\' || at_[1] != 'u') return false;
    const auto [stop, error] = std::from_chars(at_ + 2, at_ + kLength, value, 16);
    at_ += kLength;
    return error == std::errc{} && stop == at_;
  };
  uint32_t code_point = 0, low = 0;
  if (!unit(code_point)) return false;
  if (code_point >= 0xD800 && code_point < 0xDC00) {
    if (!unit(low) || low < 0xDC00 || low > 0xDFFF) return false;
    code_point = 0x10000 + ((code_point - 0xD800) << 10) + (low - 0xDC00);
  } else if (code_point >= 0xDC00 && code_point <= 0xDFFF) {
    return false;
  }
  append_utf8(scratch_, code_point);
  return true;
}

bool TableScanner::take_id(int64_t max, int32_t& id) {
  while (at_ != end_ && is_space(*at_)) ++at_;
  const char* const from = at_;
  int64_t value = 0;
  while (at_ != end_ && is_digit(*at_) && value <= max) value = 10 * value + (*at_++ - '0');
  id = static_cast<int32_t>(value);
  return at_ != from && (*from != '0' || at_ == from + 1) && value <= max;
}

bool TableScanner::take_number(double& number) {
  while (at_ != end_ && is_space(*at_)) ++at_;
  const char* const end = number_end(at_, end_);
  if (end == nullptr) return false;
  const auto read = serde_number({at_, static_cast<size_t>(end - at_)});
  if (!read) return false;
  number = *read;
  at_ = end;
  return true;
}

bool TableScanner::skip_value() {
  size_t depth = 0;
  for (; at_ != end_; ++at_) {
    switch (*at_) {
      case '"':
        for (++at_; at_ != end_ && *at_ != '"'; ++at_) {
          if (*at_ == '\\' && ++at_ == end_) return false;
        }
        if (at_ == end_) return false;
        break;
      case '{':
      case '[':
        ++depth;
        break;
      case '}':
      case ']':
        if (depth-- == 0) return true;
        break;
      case ',':
        if (depth == 0) return true;
        break;
      default:
        break;
    }
  }
  return false;
}

}  // namespace pippin::tokenizers
