// The terminal of the process: its capabilities, single keys, and waiting for them.
#pragma once

#include <memory>
#include <string>

#include "pippin/terminal/display.h"

namespace pippin::terminal {

class Terminal final : public Display {
 public:
  Terminal();  // standard input and output
  ~Terminal() override;

  // Returns whether keys and cursor movement work: both streams are terminals, and TERM is not
  // "dumb" or the like.
  bool is_interactive() const { return is_interactive_; }
  bool has_input_terminal() const { return has_input_terminal_; }

  void write(std::string_view text) override;
  Size size() const override;
  bool has_moves() const override { return is_interactive_; }
  bool has_styles() const override { return has_styles_; }
  bool is_utf8() const override { return is_utf8_; }

  // While it exists, keys arrive unbuffered and without echo, none raises a signal, and pasted text
  // is marked (bracketed paste).
  class RawMode {
   public:
    explicit RawMode(Terminal& terminal);
    RawMode(const RawMode&) = delete;
    RawMode& operator=(const RawMode&) = delete;
    ~RawMode();

   private:
    Terminal& terminal_;
  };
  // Implements Ctrl-Z: stops the process until the shell resumes it.
  void suspend();
  // Runs a program that uses the terminal, such as an editor. Returns its exit status.
  int run(const std::string& command);

  enum class Event { Input, Wake, Resize, Timeout, End };
  // Waits for an event, up to `milliseconds` (negative: forever). For Input, appends the bytes to
  // `input`. Throws Cancelled after a signal.
  Event wait(std::string& input, int milliseconds);
  // The same without reading the input.
  Event wait_for_wake();
  // Makes wait() return Event::Wake. Thread-safe.
  void wake() noexcept;

 private:
  class Modes;
  Event wait_until(std::string* input, int milliseconds);
  void enter();
  void leave() noexcept;

  std::unique_ptr<Modes> modes_;
  int wake_read_ = -1, wake_write_ = -1;
  bool is_interactive_ = false, has_input_terminal_ = false, has_styles_ = false, is_utf8_ = true;
};

}  // namespace pippin::terminal
