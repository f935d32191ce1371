// JSON numbers, described by their values.
//
// A number is written plainly (-12.50) or in scientific form (1.25e+01): one nonzero digit before
// the point, at most 17 after it, and an exponent of at most three digits, as programs write very
// large or small numbers. Zero may have an exponent, too. Other spellings (12e1) are in none of
// these languages, so that the languages are exact.
#pragma once

#include <cstdint>

#include "pippin/constrain/patterns/decimal.h"
#include "pippin/constrain/regex_pool.h"

namespace pippin::constrain {

// Without the scientific form, automata are much smaller. A number that is not in one of these
// languages is in its complement within json_number() of the same spelling.
enum class Spelling : uint8_t { Plain, Any };

RegexId json_number(RegexPool& pool, Spelling spelling = Spelling::Any);
RegexId json_integer(RegexPool& pool, Spelling spelling = Spelling::Any);  // 1.0 and 1e2 are
                                                                           // integers

// Numbers as programs write them: plain, without trailing zeros in a fraction, not -0. The first
// two have at most 20 digits on each side of the point.
RegexId written_number(RegexPool& pool);
RegexId written_integer(RegexPool& pool);
RegexId plainly_written(RegexPool& pool);

// Throws LimitExceeded for bounds of more than 400 digits.
RegexId at_least(RegexPool& pool, const Decimal& bound, bool exclusive,
                 Spelling spelling = Spelling::Any);
RegexId at_most(RegexPool& pool, const Decimal& bound, bool exclusive,
                Spelling spelling = Spelling::Any);
RegexId equal_to(RegexPool& pool, const Decimal& value, Spelling spelling = Spelling::Any);
// `divisor` must be above 0. Throws Unsupported if the automaton would be too large: for divisors
// of more than about four digits, except 10, 100, ...
RegexId multiple_of(RegexPool& pool, const Decimal& divisor, Spelling spelling = Spelling::Any);

}  // namespace pippin::constrain
