#include "pippin/mil/text/lexer.h"

#include <algorithm>

#include "pippin/base/text.h"

namespace pippin::mil {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '@';
}
bool is_name_char(char c) {
  return is_name_start(c) || is_digit(c) || c == '.';
}

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// The end of the number that starts at `begin`: a sign after an exponent's letter belongs to it.
size_t number_end(std::string_view source, size_t begin) {
  size_t end = begin + 1;
  const bool negative = source[begin] == '-';
  const std::string_view digits = source.substr(begin + (negative ? 1 : 0));
  const bool hexadecimal = digits.substr(0, 2) == "0x" || digits.substr(0, 2) == "0X";
  while (end < source.size()) {
    const char c = source[end], previous = source[end - 1];
    const bool exponent = previous == 'p' || previous == 'P' ||
                          (!hexadecimal && (previous == 'e' || previous == 'E'));
    if (!is_name_char(c) && !(exponent && (c == '+' || c == '-'))) break;
    ++end;
  }
  return end;
}

}  // namespace

bool is_plain_name(std::string_view text) {
  return !text.empty() && is_name_start(text[0]) &&
         std::all_of(text.begin(), text.end(), is_name_char);
}

std::string quote(std::string_view text) {
  std::string result = "\"";
  for (size_t position = 0; position < text.size();) {
    const size_t start = position;
    const auto byte = static_cast<unsigned char>(text[position]);
    if (byte >= 0x80) {
      decode_utf8(text, position);
      const std::string_view character = text.substr(start, position - start);
      if (is_valid_utf8(character)) {
        result += character;
        continue;
      }
      position = start;
    }
    ++position;
    if (byte == '"' || byte == '\\') {
      result += {'\\', static_cast<char>(byte)};
    } else if (byte == '\n') {
      result += "\\n";
    } else if (byte == '\t') {
      result += "\\t";
    } else if (byte == '\r') {
      result += "\\r";
    } else if (byte < 0x20 || byte >= 0x7f) {
      result += fmt::format("\\x{:02x}", byte);
    } else {
      result += static_cast<char>(byte);
    }
  }
  return result + '"';
}

std::string spell_name(const std::string& name) {
  return is_plain_name(name) ? name : quote(name);
}

Lexer::Lexer(std::string_view source, std::string_view name) : source_(source), name_(name) {
  advance();
}

void Lexer::throw_at(ErrorCode code, size_t position, const std::string& message) const {
  const std::string_view before = source_.substr(0, position);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const size_t line_start = before.rfind('\n');
  const size_t column = line_start == before.npos ? position + 1 : position - line_start;
  fail(code, "{}:{}:{}: {}", name_, line, column, message);
}

void Lexer::fail_expected(std::string_view what) const {
  const std::string found =
      token_.kind == Token::Kind::End ? "the end" : fmt::format("'{}'", token_.text.substr(0, 40));
  fail_at(token_.position, "expected {}, found {}", what, found);
}

void Lexer::skip_blanks() {
  while (position_ < source_.size()) {
    const char c = source_[position_];
    if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
      ++position_;
    } else if (source_.substr(position_, 2) == "//") {
      position_ = std::min(source_.find('\n', position_), source_.size());
    } else {
      return;
    }
  }
}

void Lexer::advance() {
  skip_blanks();
  token_ = Token{Token::Kind::End, {}, position_};
  if (position_ == source_.size()) return;
  const char c = source_[position_];
  size_t end = position_ + 1;
  if (c == '"') {
    token_.kind = Token::Kind::String;
    while (end < source_.size() && source_[end] != '"') end += source_[end] == '\\' ? 2 : 1;
    if (end >= source_.size()) fail_at(position_, "a string without an end");
    ++end;
  } else if (is_name_start(c)) {
    token_.kind = Token::Kind::Name;
    while (end < source_.size() && is_name_char(source_[end])) ++end;
  } else if (source_.substr(position_, 2) == "->" || source_.substr(position_, 3) == "...") {
    token_.kind = Token::Kind::Symbol;
    end = position_ + (c == '-' ? 2 : 3);
  } else if (is_digit(c) || c == '-' || c == '.') {
    token_.kind = Token::Kind::Number;
    end = number_end(source_, position_);
  } else if (std::string_view("()[]{}<>=,;?*").find(c) != std::string_view::npos) {
    token_.kind = Token::Kind::Symbol;
  } else {
    fail_at(position_, "unexpected byte 0x{:02x}", static_cast<unsigned char>(c));
  }
  token_.text = source_.substr(position_, end - position_);
  position_ = end;
}

Token Lexer::next() {
  const Token token = token_;
  advance();
  return token;
}

bool Lexer::accept(std::string_view symbol) {
  if (!at(symbol)) return false;
  advance();
  return true;
}

void Lexer::expect(std::string_view symbol) {
  if (!accept(symbol)) fail_expected(fmt::format("'{}'", symbol));
}

std::string Lexer::take_name(std::string_view what) {
  if (token_.kind == Token::Kind::Name) return std::string(next().text);
  if (token_.kind == Token::Kind::String) return unquote(next());
  fail_expected(what);
}

std::string Lexer::take_string(std::string_view what) {
  if (token_.kind != Token::Kind::String) fail_expected(what);
  return unquote(next());
}

std::string Lexer::unquote(const Token& token) const {
  const std::string_view body = token.text.substr(1, token.text.size() - 2);
  std::string result;
  for (size_t i = 0; i < body.size(); ++i) {
    if (body[i] != '\\') {
      result += body[i];
      continue;
    }
    const char escape = body[++i];  // the lexer took the byte after every backslash
    static constexpr std::string_view kLetters = "abfnrtv", kMeanings = "\a\b\f\n\r\t\v";
    const auto to_digit = [&](size_t at) { return at < body.size() ? hex_digit(body[at]) : -1; };
    if (const size_t letter = kLetters.find(escape); letter != std::string_view::npos) {
      result += kMeanings[letter];
    } else if (escape == 'x' && to_digit(i + 1) >= 0 && to_digit(i + 2) >= 0) {
      result += static_cast<char>(to_digit(i + 1) * 16 + to_digit(i + 2));
      i += 2;
    } else if (escape >= '0' && escape <= '7') {
      int code = escape - '0';
      for (int more = 0; more < 2 && to_digit(i + 1) >= 0 && to_digit(i + 1) < 8; ++more) {
        code = code * 8 + to_digit(++i);
      }
      result += static_cast<char>(code);
    } else if (escape == '"' || escape == '\'' || escape == '\\' || escape == '?') {
      result += escape;
    } else {
      fail_at(token.position, "unknown escape '\\{}' in a string", escape);
    }
  }
  return result;
}

}  // namespace pippin::mil
