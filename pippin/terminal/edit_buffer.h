// A text being edited, with a cursor. Moves are by user-perceived characters (width.h).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace pippin::terminal {

class EditBuffer {
 public:
  const std::string& text() const { return text_; }
  size_t cursor() const { return cursor_; }  // in bytes
  bool is_empty() const { return text_.empty(); }

  void set(std::string text);  // moves the cursor to the end
  void insert(std::string_view text);
  // Each returns whether it changed anything.
  bool erase_before();
  bool erase_after();
  bool left();
  bool right();
  bool word_left();
  bool word_right();
  bool home();  // start of the line
  bool end();
  bool up();  // to the same column of the previous line
  bool down();
  bool transpose();  // swaps the two characters before the cursor

  // put() inserts the text that these functions cut.
  void cut_word_before();
  void cut_word_after();
  void cut_to_end();
  void cut_to_home();
  void put() { insert(cut_); }

 private:
  size_t line_begin(size_t at) const;
  size_t line_end(size_t at) const;
  bool move_to(size_t at);
  bool move_in_line(size_t begin, size_t end, size_t characters);
  size_t characters_before() const;  // in the current line
  void cut(size_t begin, size_t end);

  std::string text_, cut_;
  size_t cursor_ = 0;
};

}  // namespace pippin::terminal
