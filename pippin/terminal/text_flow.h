// Shows text that arrives in pieces: wraps whole words, and removes everything that would control
// the terminal (width.h).
#pragma once

#include <string>
#include <string_view>

#include "pippin/terminal/display.h"

namespace pippin::terminal {

class TextFlow {
 public:
  // `wraps` false: the terminal breaks lines.
  TextFlow(Display& display, bool wraps) : display_(display), wraps_(wraps) {}

  // `text` must be valid UTF-8. Dim text requires a terminal with styles.
  void push(std::string_view text, bool is_dim = false);
  // Ends the current line unless it is empty.
  void end_line();

 private:
  void put(std::string_view cluster, std::string& out);
  void set_dim(bool is_dim, std::string& out);
  void new_line(std::string& out);

  Display& display_;
  const bool wraps_;
  std::string word_;  // at the end of the line, as written
  int word_columns_ = 0;
  int column_ = 0;
  int columns_ = 80;  // of the display
  bool is_dim_ = false;
};

}  // namespace pippin::terminal
