// Sets of code points as ranges.
#pragma once

#include <vector>

namespace pippin::tokenizers {

inline constexpr char32_t kLastCodePoint = 0x10FFFF;

struct CodePointRange {
  char32_t first;
  char32_t last;
};

// Sorted ranges with a gap between each and the next.
using CodePoints = std::vector<CodePointRange>;

// Sorts and merges ranges given in any order.
CodePoints sorted(CodePoints ranges);
CodePoints united(const CodePoints& a, const CodePoints& b);
CodePoints complement(const CodePoints& set);
bool contains(const CodePoints& set, char32_t c);

}  // namespace pippin::tokenizers
