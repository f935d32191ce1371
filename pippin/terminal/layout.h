// Where each part of a text is on a screen of so many columns, when it is drawn behind a prompt and
// its lines behind another one.
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
  std::vector<std::string> rows;  // as they are written
  size_t cursor_row = 0;
  int cursor_column = 0;  // less than the columns
};

// Lines are broken between characters. `cursor` is a place in `text`, in bytes.
Layout lay_out(std::string_view text, size_t cursor, const LayoutOptions& options);

}  // namespace pippin::terminal
