// JSON's numbers by their values.
//
// A number is written plainly (-12.50) or in scientific form (1.25e+01): one digit that is not 0
// in front of the point, at most 17 behind it, and an exponent of at most three digits, as programs
// write what is very large or very small; zero may have an exponent, too. Other spellings (12e1)
// are not in any of these languages, so that they are exact.
#pragma once

#include <cstdint>

#include "pippin/constrain/patterns/decimal.h"
#include "pippin/constrain/regex_pool.h"

namespace pippin::constrain {

// Without the scientific form automata are much smaller. What is not in one of these languages is
// in its complement within json_number() of the same spelling.
enum class Spelling : uint8_t { Plain, Any };

RegexId json_number(RegexPool& pool, Spelling spelling = Spelling::Any);
RegexId json_integer(RegexPool& pool, Spelling spelling = Spelling::Any);  // 1.0 and 1e2 are some

// As programs write numbers: plainly, no zero at the end of a fraction, not -0. The first two have
// at most 20 digits on each side of the point.
RegexId written_number(RegexPool& pool);
RegexId written_integer(RegexPool& pool);
RegexId plainly_written(RegexPool& pool);

// Bounds of more than 400 digits: LimitExceeded.
RegexId at_least(RegexPool& pool, const Decimal& bound, bool exclusive,
                 Spelling spelling = Spelling::Any);
RegexId at_most(RegexPool& pool, const Decimal& bound, bool exclusive,
                Spelling spelling = Spelling::Any);
RegexId equal_to(RegexPool& pool, const Decimal& value, Spelling spelling = Spelling::Any);
// Of a number above 0. Throws Unsupported where that takes too large an automaton: for divisors
// of more than about four digits that are not 10, 100, ...
RegexId multiple_of(RegexPool& pool, const Decimal& divisor, Spelling spelling = Spelling::Any);

}  // namespace pippin::constrain
