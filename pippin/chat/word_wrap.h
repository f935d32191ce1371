// Python's textwrap.wrap.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pippin::chat {

struct WrapOptions {
  int64_t width = 79;  // of a line, in code points; must be positive
  bool break_long_words = true;
  bool break_on_hyphens = true;
};

// Returns lines without surrounding whitespace, except at the start of the first one.
std::vector<std::string> wrap_words(std::string_view text, const WrapOptions& options);

}  // namespace pippin::chat
