// Template source to tokens, with Jinja's rules for white space: trim_blocks and lstrip_blocks are
// on, as transformers sets them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/chat/big_integer.h"

namespace pippin::chat {

enum class TokenType {
  Text,            // outside of tags
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
  std::string text;  // of strings without quotes and escapes; of operators the operator
  int line;
  BigInteger integer{0};
  double number = 0;
};

// Throws Error(InvalidFile) with the line.
std::vector<Token> tokenize(std::string_view source);

}  // namespace pippin::chat
