// Grammars in llama.cpp's GBNF (its grammars/README.md): rules with literals, character classes,
// groups, alternatives, ? * + {m,n}, comments, and tokens: <[1000]>, <think>, !<think>.
//
// Each small rule without recursion becomes one regular expression, for which masks are computed
// fastest; other rules stay rules. Both have the same meaning.
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
  // Returns the token with this text, if there is one. Without it, <think> is rejected.
  std::function<std::optional<int32_t>(std::string_view)> token_of = {};
};

// Returns the root's symbol; the caller puts it into a rule and finishes the grammar, which rejects
// left-recursive rules by name. Throws InvalidArgument with line and column for a syntax error,
// LimitExceeded if the grammar is too large.
Symbol add_gbnf(Grammar& grammar, std::string_view text, const GbnfOptions& options = {});

}  // namespace pippin::constrain
