#include "pippin/terminal/line_editor.h"

#include <random>

#include <gtest/gtest.h>

#include "pippin/terminal/layout.h"
#include "pippin/terminal/screen_testing.h"

namespace pippin::terminal {
namespace {

Key text(std::string_view typed) {
  return {KeyKind::Text, std::string(typed)};
}
Key control(char letter) {
  return {KeyKind::Control, {}, letter};
}

TEST(LineEditor, WritesALine) {
  Screen screen(40, 10);
  History history;
  LineEditor editor(screen, history);
  editor.begin({.placeholder = "Say something"});
  EXPECT_EQ(screen.lines(), std::vector<std::string>{">>> Say something"});
  EXPECT_EQ(screen.cursor_column(), 4);
  for (const Key& key : {text("helo"), Key{KeyKind::Left, {}}, text("l")}) {
    EXPECT_EQ(editor.take(key), LineEditor::Result::None);
    editor.draw();
  }
  EXPECT_EQ(screen.lines(), std::vector<std::string>{">>> hello"});
  EXPECT_EQ(screen.cursor_column(), 8);
  EXPECT_EQ(editor.take({KeyKind::Enter, {}}), LineEditor::Result::Line);
  EXPECT_EQ(editor.text(), "hello");
  EXPECT_EQ(screen.cursor_row(), 1u);
  EXPECT_EQ(screen.cursor_column(), 0);
}

TEST(LineEditor, PastedLinesDoNotSend) {
  Screen screen(40, 10);
  History history;
  LineEditor editor(screen, history);
  editor.begin({});
  EXPECT_EQ(editor.take({KeyKind::Paste, "one\ntwo \x1B[31m"}), LineEditor::Result::None);
  editor.draw();
  EXPECT_EQ(screen.lines(), (std::vector<std::string>{">>> one", "... two ^[[31m"}));
  EXPECT_EQ(screen.unknown, "");
}

TEST(LineEditor, GoesThroughTheHistory) {
  Screen screen(40, 10);
  History history;
  history.add("first");
  history.add("second");
  LineEditor editor(screen, history);
  editor.begin({});
  editor.take(text("mine"));
  const Key up{KeyKind::Up, {}}, down{KeyKind::Down, {}};
  editor.take(up);
  EXPECT_EQ(editor.text(), "second");
  editor.take(up);
  editor.take(up);
  EXPECT_EQ(editor.text(), "first");
  editor.take(down);
  editor.take(down);
  editor.take(down);
  EXPECT_EQ(editor.text(), "mine");
}

TEST(LineEditor, ControlKeys) {
  Screen screen(40, 10);
  History history;
  LineEditor editor(screen, history);
  editor.begin({});
  EXPECT_EQ(editor.take(control('d')), LineEditor::Result::EndOfInput);
  editor.begin({}, "text");
  EXPECT_EQ(editor.take(control('d')), LineEditor::Result::None);
  EXPECT_EQ(editor.take(control('g')), LineEditor::Result::OpenEditor);
  EXPECT_EQ(editor.text(), "text");
  editor.begin({}, "text");
  EXPECT_EQ(editor.take(control('c')), LineEditor::Result::Interrupt);
  EXPECT_EQ(editor.text(), "");
  editor.begin({});
  EXPECT_EQ(editor.take(control('z')), LineEditor::Result::Suspend);
}

TEST(LineEditor, Completes) {
  Screen screen(40, 10);
  History history;
  LineEditor editor(screen, history);
  const auto complete = [](const std::string& before) {
    return before == "/s" ? std::vector<std::string>{"/save", "/saved"}
                          : std::vector<std::string>{};
  };
  editor.begin({.complete = complete});
  editor.take(text("/s"));
  editor.take({KeyKind::Tab, {}});
  EXPECT_EQ(editor.text(), "/save");
}

// The screen shows the layout, for any input and any width.
TEST(LineEditor, DrawsWhatIsThere) {
  std::mt19937 random(3);
  const char* const pieces[] = {"a",  "word ", "漢字", "👍🏽", "e\xCC\x81",
                                "\n", "\x1B",  "\t",   "x"};
  const KeyKind moves[] = {
      KeyKind::Left, KeyKind::Right,    KeyKind::Up,        KeyKind::Down,   KeyKind::Home,
      KeyKind::End,  KeyKind::WordLeft, KeyKind::WordRight, KeyKind::Delete, KeyKind::Backspace};
  for (const int columns : {1, 2, 3, 5, 8, 20, 79, 500}) {
    const int rows = 3 + static_cast<int>(random() % 30);
    Screen screen(columns, rows);
    screen.goes_past_edge = columns % 2 == 0;
    History history;
    LineEditor editor(screen, history);
    editor.begin({});
    for (int step = 0; step < 150; ++step) {
      if (random() % 3 == 0) {
        editor.take({moves[random() % std::size(moves)], {}});
      } else {
        editor.take({KeyKind::Paste, pieces[random() % std::size(pieces)]});
      }
      editor.draw();
      ASSERT_EQ(screen.unknown, "");
      const Layout layout =
          lay_out(editor.text(), editor.cursor(), {">>> ", "... ", columns, true});
      // The rows around the cursor that fit the screen.
      const size_t first = layout.cursor_row + 1 > static_cast<size_t>(rows)
                               ? layout.cursor_row + 1 - static_cast<size_t>(rows)
                               : 0;
      const size_t last = std::min(layout.rows.size(), first + static_cast<size_t>(rows));
      const auto lines = screen.lines();
      ASSERT_GE(lines.size(), last - first);
      const size_t top = screen.cursor_row() - (layout.cursor_row - first);
      for (size_t row = first; row < last; ++row) {
        std::string wanted = layout.rows[row];
        wanted.resize(wanted.find_last_not_of(' ') + 1);
        // A character wider than the screen is not broken.
        ASSERT_EQ(lines[top + row - first], wanted) << columns << " columns, step " << step;
      }
      ASSERT_EQ(std::min(screen.cursor_column(), columns - 1),
                std::min(layout.cursor_column, columns - 1));
    }
  }
}

}  // namespace
}  // namespace pippin::terminal
