// Decodes a terminal's bytes to keys. Sequences are xterm's, which other terminals follow; unknown
// ones are skipped as a whole, so that they leave no letters behind.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace pippin::terminal {

enum class KeyKind {
  Text,   // one or several characters that arrived together
  Paste,  // pasted text, whose newlines do not send
  Enter,
  AltEnter,
  Tab,
  Backspace,
  Delete,
  Left,
  Right,
  Up,
  Down,
  Home,
  End,
  WordLeft,
  WordRight,
  DeleteWord,      // previous word: Alt-Backspace
  DeleteNextWord,  // next word: Alt-d
  Control,         // with a letter: 'c' for Ctrl-C
};

struct Key {
  KeyKind kind;
  std::string text;  // for Text and Paste
  char letter = 0;   // for Control
};

class KeyDecoder {
 public:
  void feed(std::string_view bytes) { bytes_ += bytes; }
  // Returns nothing if more bytes are needed.
  std::optional<Key> next();
  // Returns how long to wait for more bytes before give_up(), in milliseconds; negative if none are
  // expected.
  int patience() const;
  // Call if no more bytes arrive: decodes a lone Escape, and ends an incomplete paste.
  void give_up();

 private:
  std::optional<Key> take_escape();
  std::optional<Key> take_paste();
  std::optional<Key> take_text();
  Key taken(size_t bytes, Key key);

  std::string bytes_;
  bool is_pasting_ = false;
  size_t searched_ = 0;  // position in the paste, in the search for its end
};

}  // namespace pippin::terminal
