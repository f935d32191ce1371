// Tokens of MIL's text form, used by the parser and, for the spelling of names and strings, by the
// printer.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "pippin/base/error.h"

namespace pippin::mil {

// Whether a name needs no quotes: letters, digits, '_', '@' and '.', not starting with a digit or
// '.'.
bool is_plain_name(std::string_view text);
// Quotes the text; escapes control characters, quotes, backslashes and bytes that are not UTF-8.
std::string quote(std::string_view text);
// The name itself, or quoted if it is not plain.
std::string spell_name(const std::string& name);

struct Token {
  enum class Kind { End, Name, Number, String, Symbol };
  Kind kind = Kind::End;
  std::string_view text = {};  // of a string: including its quotes and escapes
  size_t position = 0;
};

// Tokens of `source`, with one token of lookahead. Skips comments (// to the end of the line).
class Lexer {
 public:
  // Error messages start with `name`, line and column.
  Lexer(std::string_view source, std::string_view name);

  const Token& peek() const { return token_; }
  size_t size() const { return source_.size(); }  // of the text, in bytes
  Token next();
  bool at(std::string_view symbol) const {
    return token_.kind == Token::Kind::Symbol && token_.text == symbol;
  }
  // Consumes the symbol if it is next.
  bool accept(std::string_view symbol);
  void expect(std::string_view symbol);
  // Consumes a name, plain or quoted.
  std::string take_name(std::string_view what);
  std::string take_string(std::string_view what);

  template <typename... Args>
  [[noreturn]] void fail_at(size_t position, fmt::format_string<Args...> format,
                            Args&&... args) const {
    throw_at(ErrorCode::InvalidFile, position,
             fmt::vformat(fmt::string_view(format), fmt::make_format_args(args...)));
  }
  // Fails because the text is valid but of a kind that is not supported.
  template <typename... Args>
  [[noreturn]] void refuse_at(size_t position, fmt::format_string<Args...> format,
                              Args&&... args) const {
    throw_at(ErrorCode::Unsupported, position,
             fmt::vformat(fmt::string_view(format), fmt::make_format_args(args...)));
  }
  [[noreturn]] void fail_expected(std::string_view what) const;

 private:
  void advance();
  void skip_blanks();
  std::string unquote(const Token& token) const;
  [[noreturn]] void throw_at(ErrorCode code, size_t position, const std::string& message) const;

  std::string_view source_;
  std::string name_;
  size_t position_ = 0;
  Token token_;
};

}  // namespace pippin::mil
