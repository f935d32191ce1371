// A message editor for terminals: readline's keys, several lines, pasted text, history.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/terminal/display.h"
#include "pippin/terminal/edit_buffer.h"
#include "pippin/terminal/history.h"
#include "pippin/terminal/keys.h"

namespace pippin::terminal {

struct EditorOptions {
  std::string prompt = ">>> ", continuation = "... ";  // ASCII
  std::string placeholder;                             // shown dim while there is no text
  // Returns the completions of the text before the cursor, as whole texts.
  std::function<std::vector<std::string>(const std::string& before)> complete = {};
};

class LineEditor {
 public:
  // `display` and `history` must outlive it.
  LineEditor(Display& display, History& history) : display_(display), history_(history) {}

  // Begins with a text and draws it.
  void begin(EditorOptions options, std::string text = {});

  enum class Result {
    None,        // continue
    Line,        // Enter: text() is the message
    Interrupt,   // Ctrl-C: the text was dropped
    EndOfInput,  // Ctrl-D in an empty text
    OpenEditor,  // Ctrl-G
    Suspend,     // Ctrl-Z
  };
  // Processes one key; draw() shows the change. After a result other than None, the cursor is below
  // the drawn rows.
  Result take(const Key& key);
  // draw() draws changes; draw_anew() draws everything after the terminal has changed.
  void draw();
  void draw_anew();
  const std::string& text() const { return buffer_.text(); }
  size_t cursor() const { return buffer_.cursor(); }

 private:
  Result take_control(char letter);
  void go_back();
  void go_forward();
  void show_entry();
  void complete();
  Result leave(Result result);

  Display& display_;
  History& history_;
  EditorOptions options_;
  EditBuffer buffer_;
  std::string kept_;        // the text, while history entries are shown
  size_t entry_ = 0;        // index in the history; its size: the text itself
  size_t drawn_row_ = 0;    // row of the cursor among those drawn
  size_t drawn_below_ = 0;  // rows below it
  bool is_drawn_ = false;
};

}  // namespace pippin::terminal
