// Regular expressions as people write them in schemas and requests, as expressions of the pool:
// ECMA-262's syntax with the flag u, and of other dialects what means the same everywhere.
//
// ^ $ \b \B and lookahead are exact wherever they stand, as long as they are not repeated.
// Backreferences, lookbehind, and what decides between several ways to match (possessive and
// atomic groups) are Unsupported; lazy quantifiers match the same texts as others.
#pragma once

#include <string_view>

#include "pippin/constrain/patterns/json_text.h"
#include "pippin/constrain/regex_pool.h"

namespace pippin::constrain {

// The texts in which the pattern is found somewhere, and those that it matches as a whole. Throws,
// with `place` in front: InvalidArgument for a pattern that is none, Unsupported, LimitExceeded for
// one that is nested too deeply.
RegexId search_pattern(RegexPool& pool, std::string_view source, Writing writing,
                       std::string_view place);
RegexId whole_pattern(RegexPool& pool, std::string_view source, Writing writing,
                      std::string_view place);

}  // namespace pippin::constrain
