#include "pippin/tokenizers/unicode/code_points.h"

#include <algorithm>
#include <iterator>

namespace pippin::tokenizers {

namespace {

bool begins_before(const CodePointRange& a, const CodePointRange& b) {
  return a.first < b.first;
}

// Merges sorted ranges that may touch or overlap.
CodePoints joined(const CodePoints& ranges) {
  CodePoints result;
  for (const auto& range : ranges) {
    if (!result.empty() && range.first <= result.back().last + 1) {
      result.back().last = std::max(result.back().last, range.last);
    } else {
      result.push_back(range);
    }
  }
  return result;
}

}  // namespace

CodePoints sorted(CodePoints ranges) {
  std::sort(ranges.begin(), ranges.end(), begins_before);
  return joined(ranges);
}

CodePoints united(const CodePoints& a, const CodePoints& b) {
  CodePoints all;
  all.reserve(a.size() + b.size());
  std::merge(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(all), begins_before);
  return joined(all);
}

CodePoints complement(const CodePoints& set) {
  CodePoints result;
  char32_t next = 0;
  for (const auto& range : set) {
    if (next < range.first) result.push_back({next, range.first - 1});
    next = range.last + 1;
  }
  if (next <= kLastCodePoint) result.push_back({next, kLastCodePoint});
  return result;
}

bool contains(const CodePoints& set, char32_t c) {
  const auto after = std::upper_bound(
      set.begin(), set.end(), c, [](char32_t x, const auto& range) { return x < range.first; });
  return after != set.begin() && c <= std::prev(after)->last;
}

}  // namespace pippin::tokenizers
