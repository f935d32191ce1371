// For tests: an in-memory terminal that supports exactly what the editor writes.
#pragma once

#include <string>
#include <vector>

#include "pippin/terminal/display.h"

namespace pippin::terminal {

class Screen final : public Display {
 public:
  Screen(int columns, int rows) : size_{columns, rows}, rows_(1) {}

  void write(std::string_view text) override;
  Size size() const override { return size_; }
  bool has_moves() const override { return true; }
  bool has_styles() const override { return styles; }
  bool is_utf8() const override { return utf8; }

  // All lines from the first one ever written, without trailing blanks.
  std::vector<std::string> lines() const;
  size_t cursor_row() const { return row_; }
  int cursor_column() const { return column_; }
  void resize(int columns, int rows) { size_ = {columns, rows}; }

  bool styles = true, utf8 = true;
  // In a full row, the cursor is after the last column, as in tmux and screen, rather than on it,
  // as in xterm; only sequences that move or erase show the difference.
  bool goes_past_edge = false;
  std::string unknown;  // unsupported sequences

 private:
  struct Cell {
    std::string text;  // empty: a blank, or the right half of a wide character
  };
  void put(std::string_view cluster, int columns);
  void escape(std::string_view parameters, char command);
  void new_line();

  Size size_;
  std::vector<std::vector<Cell>> rows_;
  size_t row_ = 0, top_ = 0;  // the first visible row
  int column_ = 0;            // the number of columns: after the last column
};

}  // namespace pippin::terminal
