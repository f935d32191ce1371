#include "pippin/hub/glob.h"

#include <algorithm>

#include "pippin/base/text.h"

namespace pippin::hub {
namespace {

constexpr size_t kNone = std::string_view::npos;

// Returns the end (after the ']') of the set that opens at `position`; kNone if it is not closed.
size_t set_end(std::string_view pattern, size_t position) {
  size_t i = position + 1;
  if (i < pattern.size() && pattern[i] == '!') ++i;
  if (i < pattern.size() && pattern[i] == ']') ++i;  // a leading ']' is literal
  while (i < pattern.size() && pattern[i] != ']') ++i;
  return i < pattern.size() ? i + 1 : kNone;
}

// `set` is the text between the brackets.
bool set_contains(std::string_view set, char32_t c) {
  bool inverted = false;
  if (set.starts_with('!')) {
    inverted = true;
    set.remove_prefix(1);
  }
  bool found = false;
  for (size_t i = 0; i < set.size();) {
    const char32_t low = decode_utf8(set, i);
    if (i + 1 < set.size() && set[i] == '-') {
      ++i;
      const char32_t high = decode_utf8(set, i);
      found = found || (low <= c && c <= high);
    } else {
      found = found || low == c;
    }
  }
  return found != inverted;
}

// Matches one element of the pattern with one character; on success, moves both past it.
bool match_one(std::string_view pattern, size_t& p, std::string_view text, size_t& t) {
  size_t next_t = t;
  const char32_t c = decode_utf8(text, next_t);
  size_t next_p = p;
  bool matches = false;
  if (pattern[p] == '?') {
    matches = true;
    next_p = p + 1;
  } else if (const size_t end = pattern[p] == '[' ? set_end(pattern, p) : kNone; end != kNone) {
    matches = set_contains(pattern.substr(p + 1, end - p - 2), c);
    next_p = end;
  } else {
    matches = decode_utf8(pattern, next_p) == c;
  }
  if (!matches) return false;
  p = next_p;
  t = next_t;
  return true;
}

}  // namespace

bool glob_matches(std::string_view pattern, std::string_view text) {
  std::string inside;
  if (pattern.ends_with('/')) {
    inside = std::string(pattern) + "*";
    pattern = inside;
  }
  size_t p = 0, t = 0;
  size_t star = kNone, star_text = 0;  // where to resume after a mismatch
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = ++p;
      star_text = t;
    } else if (p < pattern.size() && match_one(pattern, p, text, t)) {
      continue;
    } else if (star != kNone) {
      decode_utf8(text, star_text);
      p = star;
      t = star_text;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == kNone;
}

bool any_glob_matches(const std::vector<std::string>& patterns, std::string_view text) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string& pattern) { return glob_matches(pattern, text); });
}

}  // namespace pippin::hub
