// The syntax tree of a GBNF grammar.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/tokenizers/unicode/code_points.h"

namespace pippin::constrain {

struct GbnfNode {
  enum class Kind : uint8_t { Text, Class, Series, Choice, Repeat, Rule, Token };
  Kind kind = Kind::Series;
  std::string text;              // Text: UTF-8; Token: its text if it has no number
  tokenizers::CodePoints set;    // Class
  std::vector<GbnfNode> parts;   // Series, Choice, Repeat
  uint32_t least = 0, most = 0;  // Repeat; most UINT32_MAX: no limit
  size_t rule = 0;               // Rule: index
  int32_t token = -1;            // Token: its number; -1: known by its text
  bool negated = false;          // Token
  size_t line = 0, column = 0;   // Token
};

struct GbnfRule {
  std::string name;
  GbnfNode body;
};

// Throws as add_gbnf().
std::vector<GbnfRule> parse_gbnf(std::string_view text);

}  // namespace pippin::constrain
