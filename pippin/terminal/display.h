// Where text goes that people read: a terminal, or something that stands for one.
#pragma once

#include <string_view>

namespace pippin::terminal {

struct Size {
  int columns = 80, rows = 24;
};

class Display {
 public:
  virtual ~Display() = default;
  // All of it, at once. Throws Io.
  virtual void write(std::string_view text) = 0;
  virtual Size size() const = 0;  // as it is now, 1 by 1 at least
  // Whether it understands escape sequences (ECMA-48): moves, and text that is dim.
  virtual bool has_moves() const = 0;
  virtual bool has_styles() const = 0;  // NO_COLOR: none are wanted
  virtual bool is_utf8() const = 0;
};

}  // namespace pippin::terminal
