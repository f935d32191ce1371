// Marks in texts: what a model writes of them may differ in blanks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace pippin::answer {

inline constexpr std::string_view kBlanks = " \t\r\n";

// A mark without the blanks at its ends.
std::string_view mark_of(std::string_view text);
size_t skip_blanks(std::string_view text, size_t position);

enum class Found : uint8_t {
  No,
  Yes,
  More,  // as far as the text goes, it may be
};

// Whether `mark` comes at `position`, which moves behind it. Any number of blanks may stand before
// it and in it, but within words, whatever blanks it has itself. An empty mark is always there.
Found take_mark(std::string_view text, size_t& position, std::string_view mark);

// Where `mark` comes first from `from` on, and its end; npos: nowhere.
struct MarkPlace {
  size_t begin = std::string_view::npos, end = std::string_view::npos;
};
MarkPlace find_mark(std::string_view text, size_t from, std::string_view mark);

// How much of the text's end may be the beginning of `mark`.
size_t held_back(std::string_view text, std::string_view mark);

}  // namespace pippin::answer
