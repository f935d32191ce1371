#include "pippin/repl/answer_display.h"

#include <fmt/format.h>

#include "pippin/base/stopwatch.h"

namespace pippin::repl {
namespace {

constexpr double kSilence = 0.5;  // seconds before progress is shown

}  // namespace

AnswerDisplay::AnswerDisplay(terminal::Display& display, bool is_interactive, bool wraps)
    : display_(display), is_interactive_(is_interactive), flow_(display, is_interactive && wraps) {}

void AnswerDisplay::show_progress(const AnswerPart& part) {
  if (!is_interactive_ || state_ != State::Nothing || seconds_since(start_) < kSilence) return;
  const std::string text = fmt::format("reading {} of {} tokens", part.done, part.total);
  const auto room = static_cast<size_t>(std::max(display_.size().columns - 1, 0));
  const bool is_dim = display_.has_styles();
  display_.write(fmt::format("\r\x1B[K{}{}{}", is_dim ? "\x1B[2m" : "", text.substr(0, room),
                             is_dim ? "\x1B[0m" : ""));
  has_progress_ = true;
}

void AnswerDisplay::hide_progress() {
  if (std::exchange(has_progress_, false)) display_.write("\r\x1B[K");
}

void AnswerDisplay::enter(State state) {
  if (state_ == state) return;
  const bool is_marked = !display_.has_styles();
  if (state == State::Thoughts) {
    if (is_marked) flow_.push("[thinking]\n");
  } else if (state_ == State::Thoughts) {
    flow_.end_line();
    flow_.push(is_marked ? "[answer]\n" : "\n");
  }
  state_ = state;
}

void AnswerDisplay::show(const AnswerPart& part) {
  if (part.total > 0) return show_progress(part);
  hide_progress();
  if (!is_interactive_) {  // only the content is the result
    display_.write(part.content);
    if (!part.content.empty()) ends_line_ = part.content.back() == '\n';
    return;
  }
  if (!part.reasoning.empty()) {
    enter(State::Thoughts);
    flow_.push(part.reasoning, /*is_dim=*/true);
  }
  if (!part.content.empty()) {
    enter(State::Content);
    flow_.push(part.content);
  }
}

void AnswerDisplay::end() {
  hide_progress();
  if (is_interactive_) {
    flow_.end_line();
    display_.write("\n");
  } else if (!ends_line_) {
    display_.write("\n");
  }
}

std::string statistics_text(const Session& session) {
  const AnswerEnd& end = session.last;
  std::string text = fmt::format("{} tokens", end.generated_tokens);
  if (end.tokens_per_second > 0) text += fmt::format(" at {:.1f} tokens/s", end.tokens_per_second);
  text += fmt::format("; {:.2f} s to read {} tokens", end.prompt_seconds, end.prompt_tokens);
  if (end.cached_tokens > 0) text += fmt::format(", {} of them cached", end.cached_tokens);
  text += fmt::format("; context {}", end.prompt_tokens + end.generated_tokens);
  if (session.opened.model.context > 0) text += fmt::format(" of {}", session.opened.model.context);
  return text;
}

}  // namespace pippin::repl
