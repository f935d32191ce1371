#include "pippin/terminal/line_editor.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "pippin/terminal/layout.h"
#include "pippin/terminal/width.h"

namespace pippin::terminal {
namespace {

constexpr size_t kMostCandidates = 40;

std::string common_start(const std::vector<std::string>& texts) {
  std::string common = texts.front();
  for (const std::string& text : texts) {
    const auto end = std::mismatch(common.begin(), common.end(), text.begin(), text.end()).first;
    common.erase(end, common.end());
  }
  return common;
}

}  // namespace

void LineEditor::begin(EditorOptions options, std::string text) {
  options_ = std::move(options);
  buffer_.set(std::move(text));
  kept_.clear();
  entry_ = history_.entries().size();
  is_drawn_ = false;
  draw();
}

LineEditor::Result LineEditor::take(const Key& key) {
  switch (key.kind) {
    case KeyKind::Text:
    case KeyKind::Paste:
      buffer_.insert(key.text);
      break;
    case KeyKind::Enter:
      return leave(Result::Line);
    case KeyKind::AltEnter:
      buffer_.insert("\n");
      break;
    case KeyKind::Tab:
      complete();
      break;
    case KeyKind::Backspace:
      buffer_.erase_before();
      break;
    case KeyKind::Delete:
      buffer_.erase_after();
      break;
    case KeyKind::Left:
      buffer_.left();
      break;
    case KeyKind::Right:
      buffer_.right();
      break;
    case KeyKind::Up:
      if (!buffer_.up()) go_back();
      break;
    case KeyKind::Down:
      if (!buffer_.down()) go_forward();
      break;
    case KeyKind::Home:
      buffer_.home();
      break;
    case KeyKind::End:
      buffer_.end();
      break;
    case KeyKind::WordLeft:
      buffer_.word_left();
      break;
    case KeyKind::WordRight:
      buffer_.word_right();
      break;
    case KeyKind::DeleteWord:
      buffer_.cut_word_before();
      break;
    case KeyKind::DeleteNextWord:
      buffer_.cut_word_after();
      break;
    case KeyKind::Control:
      return take_control(key.letter);
  }
  return Result::None;
}

LineEditor::Result LineEditor::take_control(char letter) {
  switch (letter) {
    case 'a':
      buffer_.home();
      break;
    case 'b':
      buffer_.left();
      break;
    case 'c': {
      const Result result = leave(Result::Interrupt);
      buffer_.set({});
      return result;
    }
    case 'd':
      if (buffer_.is_empty()) return leave(Result::EndOfInput);
      buffer_.erase_after();
      break;
    case 'e':
      buffer_.end();
      break;
    case 'f':
      buffer_.right();
      break;
    case 'g':
      return leave(Result::OpenEditor);
    case 'k':
      buffer_.cut_to_end();
      break;
    case 'l':
      display_.write("\x1B[H\x1B[2J");
      is_drawn_ = false;
      break;
    case 'n':
      go_forward();
      break;
    case 'p':
      go_back();
      break;
    case 't':
      buffer_.transpose();
      break;
    case 'u':
      buffer_.cut_to_home();
      break;
    case 'w':
      buffer_.cut_word_before();
      break;
    case 'y':
      buffer_.put();
      break;
    case 'z':
      return leave(Result::Suspend);
    default:
      break;
  }
  return Result::None;
}

void LineEditor::go_back() {
  if (entry_ == 0) return;
  if (entry_ == history_.entries().size()) kept_ = buffer_.text();
  --entry_;
  show_entry();
}

void LineEditor::go_forward() {
  if (entry_ >= history_.entries().size()) return;
  ++entry_;
  show_entry();
}

void LineEditor::show_entry() {
  const auto& entries = history_.entries();
  buffer_.set(entry_ == entries.size() ? kept_ : entries[entry_]);
}

void LineEditor::complete() {
  const std::string before = buffer_.text().substr(0, buffer_.cursor());
  const auto found = options_.complete ? options_.complete(before) : std::vector<std::string>{};
  if (found.empty()) return;
  const std::string common = common_start(found);
  if (common.size() > before.size() && common.starts_with(before)) {
    buffer_.insert(common.substr(before.size()));
    return;
  }
  if (found.size() == 1) return;
  leave(Result::None);
  for (size_t i = 0; i < std::min(found.size(), kMostCandidates); ++i) {
    for (size_t at = 0; at < found[i].size();) {
      const size_t size = cluster_at(found[i], at).size;
      display_.write(shown(std::string_view(found[i]).substr(at, size), display_.is_utf8()).text);
      at += size;
    }
    display_.write("\n");
  }
  if (found.size() > kMostCandidates) {
    display_.write(fmt::format("and {} more\n", found.size() - kMostCandidates));
  }
}

void LineEditor::draw() {
  const Size size = display_.size();
  const Layout layout =
      lay_out(buffer_.text(), buffer_.cursor(),
              {options_.prompt, options_.continuation, size.columns, display_.is_utf8()});
  // If it is higher than the screen, draw as many rows as fit, including the cursor's.
  const auto height = static_cast<size_t>(std::max(size.rows, 1));
  const size_t first = layout.cursor_row + 1 > height ? layout.cursor_row + 1 - height : 0;
  const size_t end = std::min(layout.rows.size(), first + height);
  std::string out;
  if (is_drawn_) {
    if (drawn_row_ > 0) out += fmt::format("\x1B[{}A", drawn_row_);
    out += "\r\x1B[J";
  }
  for (size_t row = first; row < end; ++row) {
    if (row > first) out += "\n";
    out += layout.rows[row];
  }
  const int prompt = static_cast<int>(options_.prompt.size());
  const int room = size.columns - 1 - prompt;
  if (buffer_.is_empty() && room > 0 && display_.has_styles()) {
    out +=
        fmt::format("\x1B[2m{}\x1B[0m", options_.placeholder.substr(0, static_cast<size_t>(room)));
  }
  drawn_below_ = end - 1 - layout.cursor_row;
  if (drawn_below_ > 0) out += fmt::format("\x1B[{}A", drawn_below_);
  out += '\r';
  if (layout.cursor_column > 0) out += fmt::format("\x1B[{}C", layout.cursor_column);
  display_.write(out);
  drawn_row_ = layout.cursor_row - first;
  is_drawn_ = true;
}

void LineEditor::draw_anew() {
  // It is unknown how the terminal has rewrapped the rows, so those above stay.
  display_.write("\r\x1B[J");
  is_drawn_ = false;
  draw();
}

LineEditor::Result LineEditor::leave(Result result) {
  draw();
  std::string out;
  if (drawn_below_ > 0) out = fmt::format("\x1B[{}B", drawn_below_);
  // Erase the placeholder, which is not text.
  display_.write(out + (buffer_.is_empty() ? "\x1B[K\n" : "\n"));
  is_drawn_ = false;
  return result;
}

}  // namespace pippin::terminal
