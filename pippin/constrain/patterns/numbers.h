// JSON's numbers by their values.
//
// A number is written plainly (-12.50) or in scientific form (1.25e+01): one digit that is not 0
// in front of the point, at most 17 behind it, and an exponent of at most three digits, as programs
// write what is very large or very small; zero may have an exponent, too. Other spellings (12e1)
// are not in any of these languages. So they are exact, and what is in json_number() and not in one
// of them is in its complement.
#pragma once

#include "pippin/constrain/patterns/decimal.h"
#include "pippin/constrain/regex_pool.h"

namespace pippin::constrain {

RegexId json_number(RegexPool& pool);
RegexId json_integer(RegexPool& pool);  // 1.0 and 1e2 are integers

// As programs write most numbers: plainly, no zero at the end of a fraction, not -0, at most 20
// digits on each side of the point.
RegexId written_number(RegexPool& pool);

// Bounds of more than 400 digits: LimitExceeded.
RegexId at_least(RegexPool& pool, const Decimal& bound, bool exclusive);
RegexId at_most(RegexPool& pool, const Decimal& bound, bool exclusive);
RegexId equal_to(RegexPool& pool, const Decimal& value);
// Of a number above 0. Throws Unsupported where that takes too large an automaton: for divisors
// of more than about four digits that are not 10, 100, ...
RegexId multiple_of(RegexPool& pool, const Decimal& divisor);

}  // namespace pippin::constrain
