// A process's terminal: what it can do, keys as they are pressed, and waiting for them.
#pragma once

#include <memory>
#include <string>

#include "pippin/terminal/display.h"

namespace pippin::terminal {

class Terminal final : public Display {
 public:
  Terminal();  // standard input and output
  ~Terminal() override;

  // Whether keys and moves work: both are terminals, and TERM is none without moves ("dumb").
  bool is_interactive() const { return is_interactive_; }
  bool has_input_terminal() const { return has_input_terminal_; }

  void write(std::string_view text) override;
  Size size() const override;
  bool has_moves() const override { return is_interactive_; }
  bool has_styles() const override { return has_styles_; }
  bool is_utf8() const override { return is_utf8_; }

  // While it lives, keys come as they are pressed, unechoed, and none is a signal; pasted text is
  // marked as such (bracketed paste).
  class RawMode {
   public:
    explicit RawMode(Terminal& terminal);
    RawMode(const RawMode&) = delete;
    RawMode& operator=(const RawMode&) = delete;
    ~RawMode();

   private:
    Terminal& terminal_;
  };
  // What Ctrl-Z does: the process stops, until the shell lets it go on.
  void suspend();
  // Runs a program (an editor) that uses the terminal. Its exit status.
  int run(const std::string& command);

  enum class Event { Input, Wake, Resize, Timeout, End };
  // Waits until something happens, for so long at most (negative: for ever). Of Input, bytes are
  // appended to `input`. Throws Cancelled after a signal.
  Event wait(std::string& input, int milliseconds);
  // The same without looking at the input.
  Event wait_for_wake();
  // Makes a wait() return with Event::Wake. From any thread.
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
