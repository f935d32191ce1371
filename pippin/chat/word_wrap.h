// textwrap.wrap of Python.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pippin::chat {

struct WrapOptions {
  int64_t width = 79;  // of a line, in code points; above 0
  bool break_long_words = true;
  bool break_on_hyphens = true;
};

// Lines without white space at their ends, but for the first one's start.
std::vector<std::string> wrap_words(std::string_view text, const WrapOptions& options);

}  // namespace pippin::chat
