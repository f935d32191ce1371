#include "pippin/repl/line_joiner.h"

#include <gtest/gtest.h>

namespace pippin::repl {
namespace {

TEST(LineJoiner, LinesAreMessagesUnlessQuoted) {
  LineJoiner lines;
  EXPECT_EQ(lines.add("one\r"), "one");
  EXPECT_EQ(lines.add(""), "");
  EXPECT_EQ(lines.add("\"\"\"a\"\"\""), "a");
  EXPECT_EQ(lines.add("\"\"\""), std::nullopt);
  EXPECT_TRUE(lines.is_open());
  EXPECT_EQ(lines.add("a \"\" b"), std::nullopt);
  EXPECT_EQ(lines.add(""), std::nullopt);
  EXPECT_EQ(lines.add("c\"\"\""), "a \"\" b\n\nc");
  EXPECT_FALSE(lines.is_open());
  EXPECT_EQ(lines.add("x\"\"\""), "x\"\"\"");  // only quotes at the start open a message
}

}  // namespace
}  // namespace pippin::repl
