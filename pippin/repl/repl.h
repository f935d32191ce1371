// The chat itself: messages in, answers out, until somebody leaves.
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
  // All of them have to outlive it.
  Repl(terminal::Terminal& terminal, Session& session, OpenModel open)
      : terminal_(terminal),
        session_(session),
        open_(std::move(open)),
        editor_(terminal, session.history) {}

  // At a terminal, talks until somebody leaves; else every line is a message, and what goes wrong
  // is thrown. Throws Cancelled after a signal.
  void run();

 private:
  void talk();
  void read_lines();
  // Nothing: somebody leaves. Empty: Ctrl-C.
  std::optional<std::string> read_message();
  std::optional<std::string> read_line(const std::string& prompt, std::string text);
  std::string write_elsewhere(const std::string& text);
  // Whether the chat goes on.
  bool take(const std::string& message);
  void send(std::string message);
  // False if somebody stopped it.
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
  std::deque<terminal::Key> keys_;  // pressed, not taken yet
  std::optional<size_t> edited_;    // the turn that the next message replaces, with all behind it
  bool is_interrupted_ = false;     // the last line
  bool has_hinted_ = false;
};

}  // namespace pippin::repl
