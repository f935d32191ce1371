#include "pippin/chat/lexer.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>

#include "pippin/base/error.h"
#include "pippin/base/numbers/number.h"
#include "pippin/base/text.h"
#include "pippin/chat/characters.h"
#include "pippin/chat/text.h"

namespace pippin::chat {
namespace {

// Longest first, so that "**" is not two "*".
constexpr std::string_view kOperators[] = {"**", "//", "==", "!=", ">=", "<=", "+", "-", "/",
                                           "*",  "%",  "~",  "[",  "]",  "(",  ")", "{", "}",
                                           ">",  "<",  "=",  ".",  ":",  "|",  ",", ";"};

bool is_name_start(char32_t c) {
  return c == '_' || (c < 0x80 ? std::isalpha(static_cast<int>(c)) != 0 : c != 0xFFFD);
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

class Lexer {
 public:
  explicit Lexer(std::string source) : source_(std::move(source)), in_(source_) {}

  std::vector<Token> run() {
    while (i_ < in_.size()) text_and_tag();
    add(TokenType::End, "");
    return std::move(tokens_);
  }

 private:
  [[noreturn]] void error(std::string_view message) const {
    fail(ErrorCode::InvalidFile, "chat template, line {}: {}", line_, message);
  }
  char peek(size_t ahead = 0) const { return i_ + ahead < in_.size() ? in_[i_ + ahead] : '\0'; }
  bool at(std::string_view text) const { return in_.substr(i_).starts_with(text); }
  void add(TokenType type, std::string text) { tokens_.push_back({type, std::move(text), line_}); }
  void advance(size_t count) {
    line_ +=
        static_cast<int>(std::count(in_.begin() + static_cast<std::ptrdiff_t>(i_),
                                    in_.begin() + static_cast<std::ptrdiff_t>(i_ + count), '\n'));
    i_ += count;
  }
  void skip_spaces() {
    while (i_ < in_.size()) {
      size_t next = i_;
      if (!is_space(decode_utf8(in_, next))) break;
      advance(next - i_);
    }
  }

  // Text up to the next tag, and then the tag.
  void text_and_tag() {
    size_t open = i_;
    while (open < in_.size()) {
      open = in_.find('{', open);
      if (open == std::string_view::npos) open = in_.size();
      if (open + 1 < in_.size() &&
          (in_[open + 1] == '{' || in_[open + 1] == '%' || in_[open + 1] == '#')) {
        break;
      }
      if (open < in_.size()) ++open;
    }
    if (open >= in_.size()) {
      add_text(in_.substr(i_));
      advance(in_.size() - i_);
      return;
    }
    const char kind = in_[open + 1];
    const char sign = open + 2 < in_.size() ? in_[open + 2] : '\0';
    add_text(strip_before_tag(in_.substr(i_, open - i_), sign, kind != '{'));
    advance(open - i_ + 2);
    if (sign == '-' || sign == '+') advance(1);
    if (kind == '#') {
      comment();
    } else if (kind == '%' && is_raw()) {
      raw();
    } else {
      tag(kind == '{');
    }
  }

  void add_text(std::string_view text) {
    if (!text.empty()) add(TokenType::Text, std::string(text));
  }

  // "{%-" removes all whitespace before it; a block alone on its line removes its indentation.
  std::string_view strip_before_tag(std::string_view text, char sign, bool block) const {
    if (sign == '-') return rstrip(text);
    if (sign == '+' || !block) return text;
    const size_t newline = text.rfind('\n');
    const size_t line_begin = newline == std::string_view::npos ? 0 : newline + 1;
    if (line_begin == 0 && !line_starting_) return text;
    return lstrip(text.substr(line_begin)).empty() ? text.substr(0, line_begin) : text;
  }

  // Ends a tag: "-%}" removes the whitespace that follows, "%}" one newline.
  void end_tag(size_t size, bool strip, bool trim_newline) {
    advance(size);
    const size_t begin = i_;
    if (strip) {
      skip_spaces();
    } else if (trim_newline && peek() == '\n') {
      advance(1);
    }
    line_starting_ = i_ > begin && in_[i_ - 1] == '\n';
  }

  void comment() {
    const size_t close = in_.find("#}", i_);
    if (close == std::string_view::npos) error("a comment without an end");
    const char sign = close > i_ ? in_[close - 1] : '\0';
    advance(close - i_);
    end_tag(2, sign == '-', sign != '+');
  }

  bool is_raw() {
    size_t at = i_;
    while (at < in_.size() && std::isspace(static_cast<unsigned char>(in_[at])) != 0) ++at;
    if (!in_.substr(at).starts_with("raw")) return false;
    at += 3;
    while (at < in_.size() && std::isspace(static_cast<unsigned char>(in_[at])) != 0) ++at;
    return in_.substr(at).starts_with("%}") || in_.substr(at).starts_with("-%}");
  }

  void raw() {
    const size_t close = in_.find("%}", i_);
    const bool strip = in_[close - 1] == '-';
    advance(close - i_);
    end_tag(2, strip, false);
    for (size_t open = i_;; ++open) {
      open = in_.find("{%", open);
      if (open == std::string_view::npos) error("raw without endraw");
      size_t at = open + 2;
      const char sign = at < in_.size() ? in_[at] : '\0';
      if (sign == '-' || sign == '+') ++at;
      while (at < in_.size() && std::isspace(static_cast<unsigned char>(in_[at])) != 0) ++at;
      if (!in_.substr(at).starts_with("endraw")) continue;
      at += 6;
      while (at < in_.size() && std::isspace(static_cast<unsigned char>(in_[at])) != 0) ++at;
      const char end_sign = at < in_.size() ? in_[at] : '\0';
      if (end_sign == '-' || end_sign == '+') ++at;
      if (!in_.substr(at).starts_with("%}")) continue;
      add_text(strip_before_tag(in_.substr(i_, open - i_), sign, true));
      advance(at - i_);
      end_tag(2, end_sign == '-', end_sign != '+');
      return;
    }
  }

  void tag(bool output) {
    add(output ? TokenType::OutputBegin : TokenType::StatementBegin, "");
    const std::string_view close = output ? "}}" : "%}";
    std::string open_brackets;
    while (true) {
      skip_spaces();
      if (i_ >= in_.size()) error("a tag without an end");
      // Inside brackets, "}}" closes two dicts.
      if (open_brackets.empty()) {
        const bool minus = peek() == '-' && in_.substr(i_ + 1).starts_with(close);
        const bool plus = !output && peek() == '+' && in_.substr(i_ + 1).starts_with(close);
        if (at(close) || minus || plus) {
          add(output ? TokenType::OutputEnd : TokenType::StatementEnd, "");
          end_tag(minus || plus ? 3 : 2, minus, !output && !plus);
          return;
        }
      }
      expression_token(open_brackets);
    }
  }

  void expression_token(std::string& open_brackets) {
    const char c = peek();
    if (c == '"' || c == '\'') {
      string(c);
    } else if (is_digit(c)) {
      number();
    } else if (size_t end = i_; is_name_start(decode_utf8(in_, end))) {
      for (size_t next = end; next < in_.size(); end = next) {
        const char32_t follow = decode_utf8(in_, next);
        if (!is_name_start(follow) && !(follow < 0x80 && is_digit(static_cast<char>(follow))))
          break;
      }
      add(TokenType::Name, std::string(in_.substr(i_, end - i_)));
      advance(end - i_);
    } else {
      for (const std::string_view op : kOperators) {
        if (!at(op)) continue;
        if (op == "(" || op == "[" || op == "{")
          open_brackets += op == "(" ? ')' : op[0] == '[' ? ']' : '}';
        if (op == ")" || op == "]" || op == "}") {
          if (open_brackets.empty() || open_brackets.back() != op[0]) {
            error(fmt::format("unexpected '{}'", op));
          }
          open_brackets.pop_back();
        }
        add(TokenType::Operator, std::string(op));
        advance(op.size());
        return;
      }
      error(fmt::format("unexpected character '{}'", c));
    }
  }

  void number() {
    size_t end = i_;
    const auto digits = [&] {
      while (end < in_.size() && (is_digit(in_[end]) || (in_[end] == '_' && end + 1 < in_.size() &&
                                                         is_digit(in_[end + 1])))) {
        ++end;
      }
    };
    int base = 10;
    if (peek() == '0' && (peek(1) == 'x' || peek(1) == 'X')) base = 16;
    if (peek() == '0' && (peek(1) == 'o' || peek(1) == 'O')) base = 8;
    if (peek() == '0' && (peek(1) == 'b' || peek(1) == 'B')) base = 2;
    bool is_float = false;
    if (base != 10) {
      end = i_ + 2;
      while (end < in_.size() &&
             (std::isxdigit(static_cast<unsigned char>(in_[end])) != 0 || in_[end] == '_'))
        ++end;
    } else {
      digits();
      const bool index = i_ > 0 && in_[i_ - 1] == '.';  // "a.0.1" is two indices
      if (!index && end + 1 < in_.size() && in_[end] == '.' && is_digit(in_[end + 1])) {
        is_float = true;
        ++end;
        digits();
      }
      if (!index && end < in_.size() && (in_[end] == 'e' || in_[end] == 'E')) {
        size_t exponent = end + 1;
        if (exponent < in_.size() && (in_[exponent] == '+' || in_[exponent] == '-')) ++exponent;
        if (exponent < in_.size() && is_digit(in_[exponent])) {
          is_float = true;
          end = exponent;
          digits();
        }
      }
    }
    std::string text;
    for (const char c : in_.substr(i_, end - i_)) {
      if (c != '_') text += c;
    }
    Token token{is_float ? TokenType::Float : TokenType::Integer, text, line_};
    const std::string_view spelled = std::string_view(text).substr(base == 10 ? 0 : 2);
    const auto integer = is_float ? std::nullopt : BigInteger::parse(spelled, base);
    if (integer) token.integer = *integer;
    const bool good = integer || (is_float && parse_number(spelled, token.number));
    if (!good) error(fmt::format("the number {}", text));
    tokens_.push_back(std::move(token));
    advance(end - i_);
  }

  void string(char quote) {
    std::string text;
    const int line = line_;
    size_t end = i_ + 1;
    while (true) {
      if (end >= in_.size()) error("a string without an end");
      const char c = in_[end];
      if (c == quote) break;
      if (c == '\\' && end + 1 < in_.size()) {
        end += escape(in_.substr(end), text);
      } else {
        text += c;
        ++end;
      }
    }
    tokens_.push_back({TokenType::String, std::move(text), line});
    advance(end + 1 - i_);
  }

  // Appends the character of an escape and returns the escape's length. Unknown escapes stay
  // unchanged.
  size_t escape(std::string_view from, std::string& text) const {
    const auto code_point = [&](size_t begin, size_t count, int base) -> size_t {
      uint32_t value = 0;
      const std::string_view digits = from.substr(begin, count);
      const auto parsed =
          std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
      const auto size = static_cast<size_t>(parsed.ptr - digits.data());
      if (base == 16 && size != count) error("an escape with too few digits");
      if (value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF))
        error("an escape that is not a character");
      append_utf8(text, value);
      return begin + size;
    };
    switch (from[1]) {
      case '\n':
        return 2;
      case 'n':
        text += '\n';
        return 2;
      case 't':
        text += '\t';
        return 2;
      case 'r':
        text += '\r';
        return 2;
      case 'a':
        text += '\a';
        return 2;
      case 'b':
        text += '\b';
        return 2;
      case 'f':
        text += '\f';
        return 2;
      case 'v':
        text += '\v';
        return 2;
      case '\\':
      case '\'':
      case '"':
        text += from[1];
        return 2;
      case 'x':
        return code_point(2, 2, 16);
      case 'u':
        return code_point(2, 4, 16);
      case 'U':
        return code_point(2, 8, 16);
      default:
        if (from[1] >= '0' && from[1] <= '7') return code_point(1, 3, 8);
        text += '\\';
        return 1;
    }
  }

  std::string source_;
  std::string_view in_;
  size_t i_ = 0;
  int line_ = 1;
  bool line_starting_ = true;  // the last tag ended a line
  std::vector<Token> tokens_;
};

// Converts newlines to "
// ", and drops one at the very end.
std::string normalized(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r') {
      out += '\n';
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
    } else {
      out += source[i];
    }
  }
  if (out.ends_with('\n')) out.pop_back();
  return out;
}

}  // namespace

std::vector<Token> tokenize(std::string_view source) {
  if (!is_valid_utf8(source)) fail(ErrorCode::InvalidFile, "chat template: not UTF-8");
  return Lexer(normalized(source)).run();
}

}  // namespace pippin::chat
