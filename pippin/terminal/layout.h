// Lays out a text on a screen of a given width, after a prompt on the first line and another on
// further lines.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace pippin::terminal {

struct LayoutOptions {
  std::string prompt, continuation;  // ASCII
  int columns = 80;
  bool is_utf8 = true;
};

struct Layout {
  std::vector<std::string> rows;  // as written to the screen
  size_t cursor_row = 0;
  int cursor_column = 0;  // less than the number of columns
};

// Breaks lines between characters. `cursor` is an offset in `text`, in bytes.
Layout lay_out(std::string_view text, size_t cursor, const LayoutOptions& options);

}  // namespace pippin::terminal
