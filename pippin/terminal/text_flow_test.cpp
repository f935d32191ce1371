#include "pippin/terminal/text_flow.h"

#include <random>

#include <gtest/gtest.h>

#include "pippin/terminal/screen_testing.h"

namespace pippin::terminal {
namespace {

std::vector<std::string> flowed_on(Screen&& screen, std::string_view text, size_t piece) {
  TextFlow flow(screen, true);
  for (size_t at = 0; at < text.size();) {
    size_t size = std::min(piece, text.size() - at);
    while (at + size < text.size() && (static_cast<unsigned char>(text[at + size]) & 0xC0) == 0x80)
      ++size;
    flow.push(text.substr(at, size));
    at += size;
  }
  EXPECT_EQ(screen.unknown, "");
  return screen.lines();
}
// Expects the same result on both kinds of terminals.
std::vector<std::string> flowed(std::string_view text, int columns, size_t piece = 1) {
  Screen other(columns, 20);
  other.goes_past_edge = true;
  const auto lines = flowed_on(Screen(columns, 20), text, piece);
  EXPECT_EQ(flowed_on(std::move(other), text, piece), lines);
  return lines;
}
using Lines = std::vector<std::string>;

TEST(TextFlow, WordsGoDownWhole) {
  for (const size_t piece : {1u, 3u, 100u}) {
    EXPECT_EQ(flowed("the quick brown fox", 10, piece), (Lines{"the quick", "brown fox"}));
    EXPECT_EQ(flowed("0123456789 x", 10, piece), (Lines{"0123456789", "x"}));
    EXPECT_EQ(flowed("ab 0123456789012 c", 10, piece), (Lines{"ab", "0123456789", "012 c"}));
    EXPECT_EQ(flowed("漢字漢字漢字", 5, piece), (Lines{"漢字", "漢字", "漢字"}));
    EXPECT_EQ(flowed("a\nb\n\nc", 10, piece), (Lines{"a", "b", "", "c"}));
    // One or more letters of a word in the last columns.
    EXPECT_EQ(flowed("so much. One", 10, piece), (Lines{"so much.", "One"}));
    EXPECT_EQ(flowed("so very One", 10, piece), (Lines{"so very", "One"}));
    EXPECT_EQ(flowed("a 12345678 b", 10, piece), (Lines{"a 12345678", "b"}));
    EXPECT_EQ(flowed("a 123456789 b", 10, piece), (Lines{"a", "123456789", "b"}));
  }
}

TEST(TextFlow, NothingMovesTheTerminal) {
  EXPECT_EQ(flowed("a\x1B[2Jb\x07\rc", 40), Lines{"a^[[2Jb^Gc"});
}

// No text is lost, no line is too long, and no word that fits is broken.
TEST(TextFlow, AnyTextOnAnyWidth) {
  std::mt19937 random(5);
  for (const int columns : {1, 2, 3, 7, 20, 80, 500}) {
    std::string text;
    for (int i = 0; i < 300; ++i) {
      const char* const words[] = {"a", "the", "漢", "longer-word", "é", "👍", "of"};
      text += words[random() % std::size(words)];
      text += random() % 8 == 0 ? "\n" : " ";
    }
    std::string all;
    for (const std::string& line : flowed(text, columns, 1 + random() % 9)) all += line;
    std::string wanted = text;
    std::erase(wanted, ' ');
    std::erase(wanted, '\n');
    std::erase(all, ' ');
    EXPECT_EQ(all, wanted) << columns;
  }
}

TEST(TextFlow, DimTextLeavesNothingDim) {
  struct Recorder final : Display {
    void write(std::string_view text) override { all += text; }
    Size size() const override { return {}; }
    bool has_moves() const override { return true; }
    bool has_styles() const override { return styles; }
    bool is_utf8() const override { return true; }
    bool styles = true;
    std::string all;
  } recorder;
  TextFlow flow(recorder, true);
  flow.push("thought", true);
  EXPECT_EQ(recorder.all, "\x1B[2mthought\x1B[0m");
  recorder.styles = false;
  recorder.all.clear();
  flow.push("x", true);
  EXPECT_EQ(recorder.all, "x");
}

}  // namespace
}  // namespace pippin::terminal
