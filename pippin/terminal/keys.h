// Bytes of a terminal to keys. Sequences are xterm's, which all others follow; unknown ones are
// passed over whole, so that none leaves letters behind.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace pippin::terminal {

enum class KeyKind {
  Text,   // a character, or several that came together
  Paste,  // text that was pasted: lines of it do not send
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
  DeleteWord,      // the one before: Alt-Backspace
  DeleteNextWord,  // Alt-d
  Control,         // with a letter: 'c' for Ctrl-C
};

struct Key {
  KeyKind kind;
  std::string text;  // of Text and Paste
  char letter = 0;   // of Control
};

class KeyDecoder {
 public:
  void feed(std::string_view bytes) { bytes_ += bytes; }
  // Nothing where more bytes are needed.
  std::optional<Key> next();
  // How long to wait for these before give_up(), in milliseconds; negative: there is nothing to
  // wait for.
  int patience() const;
  // The rest does not come: an Escape was one, a paste was cut.
  void give_up();

 private:
  std::optional<Key> take_escape();
  std::optional<Key> take_paste();
  std::optional<Key> take_text();
  Key taken(size_t bytes, Key key);

  std::string bytes_;
  bool is_pasting_ = false;
  size_t searched_ = 0;  // of the paste, for its end
};

}  // namespace pippin::terminal
