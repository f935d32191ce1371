// Shows an answer while it is generated.
#pragma once

#include <chrono>
#include <string>

#include "pippin/repl/client.h"
#include "pippin/repl/session.h"
#include "pippin/terminal/display.h"
#include "pippin/terminal/text_flow.h"

namespace pippin::repl {

class AnswerDisplay {
 public:
  // `is_interactive` false: writes only the content, unchanged.
  AnswerDisplay(terminal::Display& display, bool is_interactive, bool wraps);

  void show(const AnswerPart& part);
  void end();

 private:
  enum class State { Nothing, Thoughts, Content };
  void show_progress(const AnswerPart& part);
  void hide_progress();
  void enter(State state);

  terminal::Display& display_;
  const bool is_interactive_;
  terminal::TextFlow flow_;
  State state_ = State::Nothing;
  bool has_progress_ = false;
  bool ends_line_ = true;  // for the text written so far
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// Returns "118 tokens at 45.1 tokens/s; 1.20 s to read 512 tokens, 480 of them cached; context 630
// of 8192".
std::string statistics_text(const Session& session);

}  // namespace pippin::repl
