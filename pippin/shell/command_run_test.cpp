#include "pippin/shell/command_run.h"

#include <chrono>

#include <gtest/gtest.h>

namespace pippin::shell {
namespace {

std::string output_of(const std::string& command, std::string_view input = "") {
  CommandRun run(command, input);
  while (!run.wait(1000)) continue;
  return run.output();
}

TEST(CommandRun, GivesWhatACommandWrites) {
  EXPECT_EQ(output_of("echo out; echo err >&2"), "out\nerr\n");
  EXPECT_EQ(output_of("cat", R"({"a": 1})"), R"({"a": 1})");
  EXPECT_EQ(output_of("echo no; exit 3"), "no\n\n[the command ended with status 3]");
  EXPECT_NE(output_of("/nowhere/at/all").find("status 127"), std::string::npos);
  // A large input does not block even if it is not read.
  EXPECT_EQ(output_of("true", std::string(1 << 20, 'x')), "");
}

TEST(CommandRun, GivesValidTextOfABoundedLength) {
  EXPECT_EQ(output_of("printf 'a\\377b'"),
            "a\xEF\xBF\xBD"
            "b");
  const std::string text = output_of("head -c 100000 /dev/zero | tr '\\0' x");
  EXPECT_EQ(text, std::string(CommandRun::kMostOutput, 'x') + "\n[34464 more bytes]");
}

TEST(CommandRun, EndsWithItsObject) {
  const auto begin = std::chrono::steady_clock::now();
  {
    CommandRun run("sleep 60", "");
    EXPECT_FALSE(run.wait(1));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
}

}  // namespace
}  // namespace pippin::shell
