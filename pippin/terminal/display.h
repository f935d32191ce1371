// A destination for text that users read: a terminal or a substitute.
#pragma once

#include <string_view>

namespace pippin::terminal {

struct Size {
  int columns = 80, rows = 24;
};

class Display {
 public:
  virtual ~Display() = default;
  // Writes all of the text at once. Throws Io.
  virtual void write(std::string_view text) = 0;
  virtual Size size() const = 0;  // current size, at least 1 by 1
  // Returns whether it supports escape sequences (ECMA-48): cursor movement and dim text.
  virtual bool has_moves() const = 0;
  virtual bool has_styles() const = 0;  // false if NO_COLOR is set
  virtual bool is_utf8() const = 0;
};

}  // namespace pippin::terminal
