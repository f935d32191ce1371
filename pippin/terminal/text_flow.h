// Text that comes in pieces, shown as it comes: words that do not fit go to the next line whole,
// and nothing in it moves the terminal (width.h).
#pragma once

#include <string>
#include <string_view>

#include "pippin/terminal/display.h"

namespace pippin::terminal {

class TextFlow {
 public:
  // `wraps` false: lines are broken by the terminal.
  TextFlow(Display& display, bool wraps) : display_(display), wraps_(wraps) {}

  // Valid UTF-8. Text that is dim is so on terminals with styles.
  void push(std::string_view text, bool is_dim = false);
  // Ends the line, unless it is empty.
  void end_line();
  bool is_at_begin() const { return column_ == 0; }

 private:
  void put(std::string_view cluster, std::string& out);
  void set_dim(bool is_dim, std::string& out);
  void new_line(std::string& out);

  Display& display_;
  const bool wraps_;
  std::string word_;  // at the end of the line, as it was written
  int word_columns_ = 0;
  int column_ = 0;
  int columns_ = 80;  // of the display
  bool is_dim_ = false;
};

}  // namespace pippin::terminal
