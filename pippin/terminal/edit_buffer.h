// A text that is being written, and the place in it. Moves are by what a reader takes for one
// character (width.h).
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

  void set(std::string text);  // the cursor goes to its end
  void insert(std::string_view text);
  // Each returns whether anything was there to be done.
  bool erase_before();
  bool erase_after();
  bool left();
  bool right();
  bool word_left();
  bool word_right();
  bool home();  // of the line
  bool end();
  bool up();  // to the same column of the line before
  bool down();
  bool transpose();  // the two characters before the cursor

  // What these take away, put() puts back.
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
  size_t characters_before() const;  // in the line
  void cut(size_t begin, size_t end);

  std::string text_, cut_;
  size_t cursor_ = 0;
};

}  // namespace pippin::terminal
