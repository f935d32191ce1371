#include "pippin/terminal/edit_buffer.h"

#include <gtest/gtest.h>

namespace pippin::terminal {
namespace {

TEST(EditBuffer, MovesByCharacters) {
  EditBuffer buffer;
  buffer.set("a漢👍🏽");
  EXPECT_TRUE(buffer.left());
  EXPECT_EQ(buffer.cursor(), 4u);
  EXPECT_TRUE(buffer.erase_after());
  EXPECT_EQ(buffer.text(), "a漢");
  EXPECT_FALSE(buffer.erase_after());
  EXPECT_TRUE(buffer.erase_before());
  EXPECT_TRUE(buffer.erase_before());
  EXPECT_FALSE(buffer.erase_before());
  EXPECT_FALSE(buffer.left());
  EXPECT_FALSE(buffer.right());
}

TEST(EditBuffer, MovesByWordsAndLines) {
  EditBuffer buffer;
  buffer.set("first line\nsecond, longer");
  buffer.word_left();
  EXPECT_EQ(buffer.cursor(), 19u);
  EXPECT_TRUE(buffer.home());
  EXPECT_EQ(buffer.cursor(), 11u);
  EXPECT_TRUE(buffer.end());
  EXPECT_TRUE(buffer.up());
  EXPECT_EQ(buffer.cursor(), 10u);  // the line is shorter
  EXPECT_FALSE(buffer.up());
  EXPECT_TRUE(buffer.down());
  EXPECT_EQ(buffer.cursor(), 21u);
  EXPECT_FALSE(buffer.down());
}

TEST(EditBuffer, CutsAndPutsBack) {
  EditBuffer buffer;
  buffer.set("one two three");
  buffer.cut_word_before();
  EXPECT_EQ(buffer.text(), "one two ");
  buffer.home();
  buffer.put();
  EXPECT_EQ(buffer.text(), "threeone two ");
  buffer.cut_to_end();
  EXPECT_EQ(buffer.text(), "three");
  buffer.set("a\nb");
  buffer.home();
  buffer.cut_to_home();
  EXPECT_EQ(buffer.text(), "a\nb");
  buffer.left();
  buffer.cut_to_end();  // at the end of a line: the newline
  EXPECT_EQ(buffer.text(), "ab");
}

TEST(EditBuffer, Transposes) {
  EditBuffer buffer;
  buffer.set("ab漢");
  EXPECT_TRUE(buffer.transpose());
  EXPECT_EQ(buffer.text(), "a漢b");
  buffer.set("a");
  EXPECT_FALSE(buffer.transpose());
  EXPECT_EQ(buffer.text(), "a");
}

}  // namespace
}  // namespace pippin::terminal
