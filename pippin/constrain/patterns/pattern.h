// Translates regular expressions in schemas and requests to expressions of the pool: ECMA-262's
// syntax with the flag u, and syntax of other dialects that means the same everywhere.
//
// ^ $ \b \B and lookahead are exact at any position, unless they are repeated. Backreferences,
// lookbehind, and possessive and atomic groups are Unsupported; lazy quantifiers match the same
// texts as greedy ones.
#pragma once

#include <string_view>

#include "pippin/constrain/patterns/json_text.h"
#include "pippin/constrain/regex_pool.h"

namespace pippin::constrain {

// Returns the texts that contain a match of the pattern, or that it matches as a whole. Throws,
// starting with `place`: InvalidArgument for a syntax error, Unsupported, LimitExceeded if the
// pattern is nested too deeply.
RegexId search_pattern(RegexPool& pool, std::string_view source, Writing writing,
                       std::string_view place);
RegexId whole_pattern(RegexPool& pool, std::string_view source, Writing writing,
                      std::string_view place);

}  // namespace pippin::constrain
