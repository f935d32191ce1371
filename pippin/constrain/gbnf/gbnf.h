// Grammars in GBNF, as llama.cpp's users write them (its grammars/README.md): rules with literals,
// character classes, groups, alternatives, ? * + {m,n}, comments, and tokens: <[1000]>, <think>,
// !<think>.
//
// Rules without recursion that are small become one regular expression each, which masks are made
// of fastest; the others stay rules. Both mean the same.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "pippin/constrain/grammar.h"

namespace pippin::constrain {

struct GbnfOptions {
  std::string root = "root";
  // The token of that text, if it is one; without it <think> is refused.
  std::function<std::optional<int32_t>(std::string_view)> token_of = {};
};

// The root's symbol; the caller puts it into a rule and finishes the grammar, which refuses rules
// that begin with themselves, by name. Throws InvalidArgument with line and column for what is
// broken, LimitExceeded for what is too large.
Symbol add_gbnf(Grammar& grammar, std::string_view text, const GbnfOptions& options = {});

}  // namespace pippin::constrain
