// Splits template source into tokens, with Jinja's whitespace rules: trim_blocks and lstrip_blocks
// are on, as in transformers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/chat/big_integer.h"

namespace pippin::chat {

enum class TokenType {
  Text,            // outside tags
  OutputBegin,     // {{
  OutputEnd,       // }}
  StatementBegin,  // {%
  StatementEnd,    // %}
  Name,
  String,
  Integer,
  Float,
  Operator,
  End,
};

struct Token {
  TokenType type;
  std::string text;  // for strings: without quotes, unescaped; for operators: the operator
  int line;
  BigInteger integer{0};
  double number = 0;
};

// Throws Error(InvalidFile) with the line.
std::vector<Token> tokenize(std::string_view source);

}  // namespace pippin::chat
