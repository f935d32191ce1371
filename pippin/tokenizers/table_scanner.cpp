#include "pippin/tokenizers/table_scanner.h"

#include <array>
#include <charconv>

#include "pippin/base/text.h"
#include "pippin/tokenizers/serde_number.h"

namespace pippin::tokenizers {
namespace {

enum class Kind : uint8_t { Plain, Wide, Quote, Escape, Control };

// What a byte means inside of a string.
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

// Most that is not ASCII in a vocabulary is of two bytes.
bool is_two_byte_character(char lead, char next) {
  const auto first = static_cast<unsigned char>(lead), second = static_cast<unsigned char>(next);
  return first >= 0xC2 && first <= 0xDF && (second & 0xC0) == 0x80;
}

// The character that an escape of two characters means, 0 for none.
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

// The end of a number as JSON writes it, or null.
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

bool TableScanner::step(const char* from, bool whole) {
  if (whole) {
    skipped_ += static_cast<size_t>(at_ - from);
  } else {
    at_ = from;
  }
  return whole;
}

bool TableScanner::spaced(char c) {
  while (at_ != end_ && is_space(*at_)) ++at_;
  if (at_ == end_ || *at_ != c) return false;
  ++at_;
  while (at_ != end_ && is_space(*at_)) ++at_;
  return true;
}

bool TableScanner::closing() {
  while (at_ != end_ && is_space(*at_)) ++at_;
  if (at_ == end_ || *at_ != ']') return false;
  ++at_;
  return true;
}

bool TableScanner::text(std::string& scratch, std::string_view& result) {
  if (at_ == end_ || *at_ != '"') return false;
  const char* const from = ++at_;
  bool wide = false;
  for (; at_ != end_; ++at_) {
    const Kind kind = kind_of(*at_);
    if (kind == Kind::Plain) continue;
    if (kind != Kind::Wide) break;
    if (end_ - at_ > 1 && is_two_byte_character(at_[0], at_[1])) {
      ++at_;
    } else {
      wide = true;  // to be looked at as a whole
    }
  }
  if (at_ == end_ || *at_ != '"') return escaped_text(from, scratch, result);
  result = {from, static_cast<size_t>(at_ - from)};
  ++at_;
  return !wide || is_valid_utf8(result);
}

bool TableScanner::escaped_text(const char* from, std::string& scratch, std::string_view& result) {
  scratch.assign(from, at_);
  while (at_ != end_ && *at_ != '"') {
    if (*at_ != '\\') {
      if (kind_of(*at_) == Kind::Control) return false;
      scratch += *at_++;
      continue;
    }
    if (end_ - at_ < 2) return false;
    if (const char c = short_escape(at_[1]); c != 0) {
      scratch += c;
      at_ += 2;
      continue;
    }
    constexpr std::ptrdiff_t kLength = 6;  // \u and four digits
    if (at_[1] != 'u' || end_ - at_ < kLength) return false;
    uint32_t code_point = 0;
    const auto [stop, error] = std::from_chars(at_ + 2, at_ + kLength, code_point, 16);
    const bool surrogate = code_point >= 0xD800 && code_point <= 0xDFFF;
    if (error != std::errc{} || stop != at_ + kLength || surrogate) return false;
    append_utf8(scratch, code_point);
    at_ = stop;
  }
  if (at_ == end_) return false;
  ++at_;
  result = scratch;
  return is_valid_utf8(scratch);
}

bool TableScanner::number(double& value) {
  const char* const end = number_end(at_, end_);
  if (end == nullptr) return false;
  const auto number = serde_number({at_, static_cast<size_t>(end - at_)});
  if (!number) return false;
  value = *number;
  at_ = end;
  return true;
}

bool TableScanner::id_and_key(int64_t max_id, int32_t& id, std::string_view& key) {
  const char* const from = at_;
  if (!spaced(':')) return step(from, false);
  const char* const digits = at_;
  int64_t value = 0;
  while (at_ != end_ && is_digit(*at_) && value <= max_id) value = 10 * value + (*at_++ - '0');
  const bool is_id = at_ != digits && (*digits != '0' || at_ == digits + 1) && value <= max_id;
  id = static_cast<int32_t>(value);
  return step(from, is_id && spaced(',') && text(first_, key));
}

bool TableScanner::next_text(std::string_view& result) {
  const char* const from = at_;
  return step(from, spaced(',') && text(first_, result));
}

bool TableScanner::next_pair(std::string_view& left, std::string_view& right) {
  const char* const from = at_;
  if (!spaced(',') || !spaced('[') || !text(first_, left)) return step(from, false);
  return step(from, spaced(',') && text(second_, right) && closing());
}

bool TableScanner::next_scored(std::string_view& token, double& score) {
  const char* const from = at_;
  if (!spaced(',') || !spaced('[') || !text(first_, token)) return step(from, false);
  return step(from, spaced(',') && number(score) && closing());
}

}  // namespace pippin::tokenizers
