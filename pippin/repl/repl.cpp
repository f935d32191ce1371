#include "pippin/repl/repl.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/base/files/file.h"
#include "pippin/base/files/output.h"
#include "pippin/base/files/temporary_folder.h"
#include "pippin/base/text.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/base/threads/thread.h"
#include "pippin/repl/answer_display.h"
#include "pippin/repl/image_paths.h"
#include "pippin/repl/line_joiner.h"
#include "pippin/shell/command_run.h"
#include "pippin/shell/shell_places.h"

namespace pippin::repl {
namespace {

using terminal::Key;
using terminal::KeyKind;
using terminal::LineEditor;
using terminal::Terminal;

constexpr const char* kPrompt = ">>> ";
constexpr const char* kMore = "... ";
constexpr const char* kPlaceholder = "Send a message (/? for help)";
constexpr size_t kLongestText = size_t{16} << 20;
constexpr int kMostRounds = 32;  // rounds of tool calls
constexpr int kPatience = 50;    // milliseconds

// An answer requested in another thread.
class Asking {
 public:
  Asking(Terminal& terminal, Session& session, bool continues)
      : thread_([this, &terminal, &session, continues] {
          try {
            end_ = session.opened.client->answer(
                session.opened.model, session.dialogue, continues,
                [&](const AnswerPart& part) {
                  {
                    const std::lock_guard lock(mutex_);
                    parts_.push_back(part);
                  }
                  terminal.wake();
                },
                stop_);
          } catch (...) {
            error_ = std::current_exception();
          }
          has_ended_ = true;
          terminal.wake();
        }) {}
  Asking(const Asking&) = delete;
  Asking& operator=(const Asking&) = delete;
  ~Asking() { stop_ = true; }

  void stop() { stop_ = true; }
  bool is_stopped() const { return stop_; }
  bool has_ended() const { return has_ended_; }
  std::vector<AnswerPart> take_parts() {
    const std::lock_guard lock(mutex_);
    return std::exchange(parts_, {});
  }
  // Call after the end. Rethrows exceptions of answer().
  const AnswerEnd& end() const {
    if (error_ != nullptr) std::rethrow_exception(error_);
    return end_;
  }

 private:
  std::mutex mutex_;
  std::vector<AnswerPart> parts_;
  AnswerEnd end_;
  std::exception_ptr error_;
  std::atomic<bool> stop_{false}, has_ended_{false};
  Thread thread_;  // last, so that it is joined first
};

std::string trimmed(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

}  // namespace

void Repl::run() {
  if (terminal_.is_interactive()) {
    talk();
  } else {
    read_lines();
  }
}

// --- at a terminal ---

void Repl::talk() {
  const Terminal::RawMode raw(terminal_);
  if (!session_.greeting.empty()) say(session_.greeting + "\n");
  if (!session_.history.notice().empty()) say(session_.history.notice() + "\n");
  while (const auto message = read_message()) {
    try {
      if (!take(*message)) return;
    } catch (const Error& error) {
      if (error.code() == ErrorCode::Cancelled) throw;
      say_error(error.what());
    }
  }
}

void Repl::read_keys(const std::string& bytes) {
  decoder_.feed(bytes);
  while (auto key = decoder_.next()) keys_.push_back(std::move(*key));
}

std::optional<std::string> Repl::read_message() {
  std::string before;
  if (edited_) before = session_.dialogue.turns.at(*edited_).content;
  LineJoiner lines;
  for (;;) {
    auto line = read_line(lines.is_open() ? kMore : kPrompt, std::exchange(before, {}));
    if (!line || std::exchange(is_interrupted_, false)) return line;
    if (auto message = lines.add(std::move(*line))) return message;
  }
}

std::optional<std::string> Repl::read_line(const std::string& prompt, std::string text) {
  const terminal::EditorOptions options{prompt, kMore, prompt == kPrompt ? kPlaceholder : "",
                                        complete_command};
  editor_.begin(options, std::move(text));
  for (;;) {
    bool is_changed = false;
    while (!keys_.empty()) {
      const Key key = std::move(keys_.front());
      keys_.pop_front();
      is_changed = true;
      switch (editor_.take(key)) {
        case LineEditor::Result::None:
          break;
        case LineEditor::Result::Line:
          return editor_.text();
        case LineEditor::Result::Interrupt:
          is_interrupted_ = true;
          if (edited_) {
            edited_.reset();
          } else if (!std::exchange(has_hinted_, true)) {
            say("Ctrl-D or /bye leaves.\n");
          }
          return std::string();
        case LineEditor::Result::EndOfInput:
          return std::nullopt;
        case LineEditor::Result::OpenEditor:
          editor_.begin(options, write_elsewhere(editor_.text()));
          break;
        case LineEditor::Result::Suspend:
          terminal_.suspend();
          editor_.begin(options, editor_.text());
          break;
      }
    }
    if (is_changed) editor_.draw();
    std::string bytes;
    switch (terminal_.wait(bytes, decoder_.patience())) {
      case Terminal::Event::Input:
        read_keys(bytes);
        break;
      case Terminal::Event::Timeout:
        decoder_.give_up();
        read_keys({});
        break;
      case Terminal::Event::Resize:
        editor_.draw_anew();
        break;
      case Terminal::Event::Wake:
        break;
      case Terminal::Event::End:
        return std::nullopt;
    }
  }
}

// Edits a text in the user's editor.
std::string Repl::write_elsewhere(const std::string& text) {
  const char* program = std::getenv("VISUAL");
  if (program == nullptr || *program == '\0') program = std::getenv("EDITOR");
  if (program == nullptr || *program == '\0') program = "vi";
  try {
    const TemporaryFolder folder("chat");
    const auto file = folder / "message.md";
    write_file(file, text);
    const int status =
        terminal_.run(fmt::format("{} {}", program, shell::shell_quoted(file.string())));
    if (status != 0) {
      say_error(fmt::format("{}: status {}; the message is as it was", program, status));
      return text;
    }
    return trimmed(read_file(file, kLongestText, StandIns::Allow));
  } catch (const Error& error) {
    if (error.code() == ErrorCode::Cancelled) throw;
    say_error(error.what());
    return text;
  }
}

// --- from a pipe, a file, or a terminal without cursor movement ---

void Repl::read_lines() {
  std::string bytes;
  LineJoiner lines;
  const auto prompt = [&] {
    if (!terminal_.has_input_terminal()) return;
    std::fputs(lines.is_open() ? kMore : kPrompt, stderr);
    std::fflush(stderr);
  };
  // Returns whether the chat continues.
  const auto take_line = [&](std::string line) {
    const auto message = lines.add(std::move(line));
    return !message || take(*message);
  };
  prompt();
  for (;;) {
    const auto event = terminal_.wait(bytes, -1);
    for (size_t end; (end = bytes.find('\n')) != std::string::npos; prompt()) {
      const std::string line = bytes.substr(0, end);
      bytes.erase(0, end + 1);
      if (!take_line(line)) return;
    }
    if (bytes.size() + lines.size() > kLongestText) {
      fail(ErrorCode::LimitExceeded, "a message of more than {} bytes", kLongestText);
    }
    if (event != Terminal::Event::End) continue;
    if (!bytes.empty() && !take_line(bytes)) return;
    if (lines.is_open()) fail(ErrorCode::InvalidArgument, "the input ends within \"\"\"");
    return;
  }
}

// --- for both ---

bool Repl::take(const std::string& message) {
  if (message.find_first_not_of(" \t\r\n") == std::string::npos) return true;
  if (!message.starts_with('/') ||
      (session_.opened.model.takes_images && begins_with_image(message))) {
    session_.history.add(message);
    send(message);
    return true;
  }
  session_.history.add(message);
  auto& turns = session_.dialogue.turns;
  switch (run_command(session_, message, open_, [this](const std::string& text) { say(text); })) {
    case Next::Prompt:
      return true;
    case Next::Answer:
      if (answer(false)) go_on();
      return true;
    case Next::Continue:
      if (answer(true)) go_on();
      return true;
    case Next::Edit:
      if (!terminal_.is_interactive()) {
        fail(ErrorCode::InvalidArgument, "/edit needs a terminal");
      }
      edited_ = turns.size() - 1;
      while (*edited_ > 0 && turns[*edited_].role != "user") --*edited_;
      return true;
    case Next::Leave:
      return false;
  }
  return true;
}

void Repl::send(std::string message) {
  auto& turns = session_.dialogue.turns;
  const std::vector<Turn> before = turns;
  if (const auto from = std::exchange(edited_, {})) turns.resize(*from);
  if (!is_valid_utf8(message)) fail(ErrorCode::InvalidArgument, "the message is not UTF-8");
  const std::vector<std::string> attached = session_.images;
  std::vector<std::string> images = std::exchange(session_.images, {});
  if (session_.opened.model.takes_images) {
    for (std::string& image : take_images(message)) images.push_back(std::move(image));
  }
  turns.push_back({.role = "user", .content = std::move(message), .images = std::move(images)});
  try {
    if (answer(false)) go_on();
  } catch (...) {
    turns = before;
    session_.images = attached;
    throw;
  }
}

// --- tools ---

// Runs the calls of the last answer and requests the next answer, until there are no calls.
void Repl::go_on() {
  auto& turns = session_.dialogue.turns;
  for (int round = 0; round < kMostRounds; ++round) {
    const std::vector<ToolCall> calls = turns.back().calls;
    if (session_.last.finish != "tool_calls" || calls.empty()) return;
    for (const ToolCall& call : calls) {
      std::string result = is_interrupted_ ? "error: not run" : result_of(call);
      turns.push_back({"tool", std::move(result), {}, {}, call.id});
    }
    if (std::exchange(is_interrupted_, false) || !answer(false)) return;
  }
  say(fmt::format("[the model has called tools {} times in a row: /continue lets it go on]\n",
                  kMostRounds));
}

std::string Repl::result_of(const ToolCall& call) {
  const auto tool = std::find_if(session_.tools.begin(), session_.tools.end(),
                                 [&](const shell::ChatTool& one) { return one.name == call.name; });
  if (tool == session_.tools.end()) return "error: unknown tool " + call.name;
  shell::ToolCommand command;
  try {
    command = shell::command_for(*tool, call.arguments);
  } catch (const Error& error) {
    say(fmt::format("[{}: {}]\n", call.name, error.what()));
    return fmt::format("error: {}", error.what());
  }
  if (!may_run(*tool, command.shown)) return "error: the user did not allow this call";
  try {
    shell::CommandRun run(command.program, call.arguments, command.variables);
    while (!run.wait(kPatience)) {
      check_cancel();
      if (!terminal_.is_interactive()) continue;
      std::string bytes;
      if (terminal_.wait(bytes, 0) == Terminal::Event::Input) read_keys(bytes);
      const auto stop = std::find_if(keys_.begin(), keys_.end(), [](const Key& key) {
        return key.kind == KeyKind::Control && key.letter == 'c';
      });
      if (stop == keys_.end()) continue;
      keys_.erase(stop);
      is_interrupted_ = true;
      say("[stopped]\n");
      return "error: the user stopped the command";
    }
    return run.output();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::Cancelled) throw;
    say(fmt::format("[{}: {}]\n", call.name, error.what()));
    return fmt::format("error: {}", error.what());
  }
}

// Asks the user, unless all calls are allowed.
bool Repl::may_run(shell::ChatTool& tool, const std::string& command) {
  if (tool.is_allowed || session_.allows_tools) {
    say(fmt::format("[{}: {}]\n", tool.name, command));
    return true;
  }
  if (!terminal_.is_interactive()) {
    say(fmt::format("[{}: not run without --allow-tools: {}]\n", tool.name, command));
    return false;
  }
  say(fmt::format("{}: {}\n", tool.name, command));
  for (;;) {
    const auto line = read_line("run it? yes, no, always: ", {});
    if (!line || is_interrupted_) return false;
    if (*line == "y" || *line == "yes") return true;
    if (*line == "n" || *line == "no") return false;
    if (*line == "a" || *line == "always") return tool.is_allowed = true;
  }
}

bool Repl::answer(bool continues) {
  auto& turns = session_.dialogue.turns;
  Turn answer{"assistant", {}, {}};
  const auto take_call = [&](const ToolCall& part) {
    if (!part.name.empty() || answer.calls.empty())
      answer.calls.push_back({part.id, part.name, {}});
    answer.calls.back().arguments += part.arguments;
  };
  AnswerDisplay display(terminal_, terminal_.is_interactive(), session_.wraps);
  Asking asking(terminal_, session_, continues);
  const auto show = [&] {
    for (const AnswerPart& part : asking.take_parts()) {
      answer.content += part.content;
      answer.reasoning += part.reasoning;
      if (part.call) {
        take_call(*part.call);
      } else {
        display.show(part);
      }
    }
  };
  while (!asking.has_ended()) {
    std::string bytes;
    // Without a terminal, input is read later.
    const auto event = terminal_.is_interactive() ? terminal_.wait(bytes, decoder_.patience())
                                                  : terminal_.wait_for_wake();
    if (event == Terminal::Event::Timeout) decoder_.give_up();
    if (event == Terminal::Event::End) asking.stop();
    read_keys(bytes);
    for (auto key = keys_.begin(); key != keys_.end();) {
      const bool is_control = key->kind == KeyKind::Control;
      if (is_control && key->letter == 'c') {
        asking.stop();
      } else if (is_control && key->letter == 'z') {
        terminal_.suspend();
      } else {
        ++key;
        continue;
      }
      key = keys_.erase(key);
    }
    show();
  }
  show();
  display.end();
  session_.last = asking.end();
  if (continues && !turns.empty()) {
    turns.back().content += answer.content;
  } else {
    turns.push_back(std::move(answer));
  }
  if (!terminal_.is_interactive()) return !asking.is_stopped();
  if (session_.last.finish == "length") say("[cut: /continue goes on]\n");
  if (asking.is_stopped()) say("[stopped]\n");
  if (session_.is_verbose && !asking.is_stopped()) say(statistics_text(session_) + "\n");
  return !asking.is_stopped();
}

void Repl::say(const std::string& text) {
  if (!terminal_.is_interactive()) {
    std::fputs(text.c_str(), stderr);
    return;
  }
  terminal::TextFlow flow(terminal_, true);
  flow.push(text, /*is_dim=*/true);
  flow.end_line();
}

void Repl::say_error(const std::string& text) {
  terminal::TextFlow flow(terminal_, true);
  flow.push("error: " + text);
  flow.end_line();
}

}  // namespace pippin::repl
