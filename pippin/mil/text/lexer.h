// Tokens of MIL's text form, shared by the parser and (the spelling of names and strings) the
// printer.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "pippin/base/error.h"

namespace pippin::mil {

// A name that needs no quotes: letters, digits, '_', '@' and '.', not starting with a digit or '.'.
bool is_plain_name(std::string_view text);
// In double quotes; control characters, quotes, backslashes and bytes that are not UTF-8 escaped.
std::string quote(std::string_view text);
// The name as it is, or quoted where it is not plain.
std::string spell_name(const std::string& name);

struct Token {
  enum class Kind { End, Name, Number, String, Symbol };
  Kind kind = Kind::End;
  std::string_view text = {};  // of a string: with its quotes and escapes
  size_t position = 0;
};

// Tokens of `source`, one ahead. Comments (// to the end of the line) are skipped.
class Lexer {
 public:
  // `name` starts every error message, followed by line and column.
  Lexer(std::string_view source, std::string_view name);

  const Token& peek() const { return token_; }
  size_t size() const { return source_.size(); }  // of the text, in bytes
  Token next();
  bool at(std::string_view symbol) const {
    return token_.kind == Token::Kind::Symbol && token_.text == symbol;
  }
  // Takes the symbol if it comes next.
  bool accept(std::string_view symbol);
  void expect(std::string_view symbol);
  // A name, plain or quoted.
  std::string take_name(std::string_view what);
  std::string take_string(std::string_view what);

  template <typename... Args>
  [[noreturn]] void fail_at(size_t position, fmt::format_string<Args...> format,
                            Args&&... args) const {
    throw_at(ErrorCode::InvalidFile, position,
             fmt::vformat(fmt::string_view(format), fmt::make_format_args(args...)));
  }
  // The text is right, and of a kind that is not read.
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
