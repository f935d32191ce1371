#include "pippin/terminal/layout.h"

#include <algorithm>

#include "pippin/terminal/width.h"

namespace pippin::terminal {
namespace {

constexpr std::string_view kTab = "    ";

class Rows {
 public:
  explicit Rows(int columns) : columns_(std::max(columns, 1)) {}

  // Adds one character.
  void add(const Shown& character) {
    if (character.columns > columns_) return add_too_wide(character);
    if (column_ > 0 && column_ + character.columns > columns_) break_row();
    layout_.rows.back() += character.text;
    column_ += character.columns;
  }
  void add_too_wide(const Shown& character) {
    const bool is_ascii = std::ssize(character.text) == character.columns;
    add_ascii(is_ascii ? character.text : "?");
  }
  void add_ascii(std::string_view text) {
    for (const char c : text) add({std::string(1, c), 1});
  }
  void break_row() {
    layout_.rows.emplace_back();
    column_ = 0;
  }
  // Puts the cursor before the next character, of `columns` columns; if that needs a new row, at
  // its start.
  void mark_cursor(int columns = 1) {
    if (column_ > 0 && column_ + columns > columns_) break_row();
    layout_.cursor_row = layout_.rows.size() - 1;
    layout_.cursor_column = column_;
  }
  Layout take() { return std::move(layout_); }

 private:
  const int columns_;
  Layout layout_{.rows = {""}};
  int column_ = 0;
};

}  // namespace

Layout lay_out(std::string_view text, size_t cursor, const LayoutOptions& options) {
  Rows rows(options.columns);
  rows.add_ascii(options.prompt);
  for (size_t at = 0; at < text.size();) {
    // The cursor is never within a character, but the text may have been cut there.
    const Cluster cluster = cluster_at(text, at);
    if (text[at] == '\n') {
      if (at == cursor) rows.mark_cursor();
      rows.break_row();
      rows.add_ascii(options.continuation);
      ++at;
      continue;
    }
    const std::string_view bytes = text.substr(at, cluster.size);
    const Shown character = bytes == "\t" ? Shown{std::string(kTab), static_cast<int>(kTab.size())}
                                          : shown(bytes, options.is_utf8);
    if (at == cursor) rows.mark_cursor(character.columns);
    rows.add(character);
    at += cluster.size;
  }
  if (cursor >= text.size()) rows.mark_cursor();
  return rows.take();
}

}  // namespace pippin::terminal
