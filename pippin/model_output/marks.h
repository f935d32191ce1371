// Finds marks in text; a model's blanks may differ from the mark's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace pippin::model_output {

inline constexpr std::string_view kBlanks = " \t\r\n";

// Returns a mark without the blanks at its ends.
std::string_view mark_of(std::string_view text);
size_t skip_blanks(std::string_view text, size_t position);

enum class Found : uint8_t {
  No,
  Yes,
  More,  // the text so far may be a prefix
};

// Returns whether `mark` is at `position`, and moves `position` after it. Any number of blanks may
// occur before it and in it, except within words, regardless of the mark's own blanks. An empty
// mark always matches.
Found take_mark(std::string_view text, size_t& position, std::string_view mark);

// The first occurrence of `mark` at `from` or later, and its end; npos if none exists.
struct MarkPlace {
  size_t begin = std::string_view::npos, end = std::string_view::npos;
};
MarkPlace find_mark(std::string_view text, size_t from, std::string_view mark);

// Returns how many bytes at the text's end may begin `mark`.
size_t held_back(std::string_view text, std::string_view mark);

}  // namespace pippin::model_output
