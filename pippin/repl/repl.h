// The chat loop: reads messages and shows answers until the user leaves.
#pragma once

#include <deque>
#include <optional>
#include <string>

#include "pippin/repl/commands.h"
#include "pippin/repl/session.h"
#include "pippin/terminal/line_editor.h"
#include "pippin/terminal/terminal.h"

namespace pippin::repl {

class Repl {
 public:
  // The arguments must outlive it.
  Repl(terminal::Terminal& terminal, Session& session, OpenModel open)
      : terminal_(terminal),
        session_(session),
        open_(std::move(open)),
        editor_(terminal, session.history) {}

  // At a terminal, runs until the user leaves. Otherwise every line is a message, and errors are
  // thrown. Throws Cancelled after a signal.
  void run();

 private:
  void talk();
  void read_lines();
  // Returns nothing if the user leaves, and an empty text for Ctrl-C.
  std::optional<std::string> read_message();
  std::optional<std::string> read_line(const std::string& prompt, std::string text);
  std::string write_elsewhere(const std::string& text);
  // Returns whether the chat continues.
  bool take(const std::string& message);
  void send(std::string message);
  // Returns false if the user stopped the answer.
  bool answer(bool continues);
  void go_on();
  std::string result_of(const ToolCall& call);
  bool may_run(shell::ChatTool& tool, const std::string& command);
  void say(const std::string& text);
  void say_error(const std::string& text);
  void read_keys(const std::string& bytes);

  terminal::Terminal& terminal_;
  Session& session_;
  const OpenModel open_;
  terminal::LineEditor editor_;
  terminal::KeyDecoder decoder_;
  std::deque<terminal::Key> keys_;  // pressed, not yet processed
  std::optional<size_t> edited_;    // the turn that the next message replaces, along with all later
                                    // ones
  bool is_interrupted_ = false;     // the last line
  bool has_hinted_ = false;
};

}  // namespace pippin::repl
