#include "pippin/pipeline/mpi/signs.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace pippin::pipeline {
namespace {

using namespace std::chrono_literals;

Sign here() {
  return Sign::of_this_process("machine");
}

// The number of a process that has ended.
std::string ended_process() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  return std::to_string(child);
}

TEST(Signs, SilentRanksAreLost) {
  const auto start = Signs::Clock::now();
  Signs signs(here(), 3, start);
  EXPECT_EQ(signs.why_lost(1, start + kPatience - 1ms), "");
  EXPECT_EQ(signs.why_lost(1, start + kPatience), "not heard of for 3 seconds");
  EXPECT_EQ(signs.place(1), "");
  signs.hear(1, here().text(), start + 2s);
  EXPECT_EQ(signs.why_lost(1, start + kPatience), "");
  EXPECT_EQ(signs.place(1), fmt::format(" (machine, process {})", ::getpid()));
  EXPECT_NE(signs.why_lost(2, start + kPatience), "");
  signs.forgive(start + kPatience);
  EXPECT_EQ(signs.why_lost(2, start + kPatience), "");
}

TEST(Signs, ProcessesThatEndedOnThisMachineAreLostAtOnce) {
  const auto start = Signs::Clock::now();
  Signs signs(here(), 4, start);
  Sign ended = here();
  ended.process = ended_process();
  signs.hear(1, ended.text(), start);
  EXPECT_EQ(signs.why_lost(1, start), "its process has ended");
  ended.machine = "another";
  signs.hear(2, ended.text(), start);
  EXPECT_EQ(signs.why_lost(2, start), "");
  signs.hear(3, here().text(), start);
  EXPECT_EQ(signs.why_lost(3, start), "");
}

TEST(Signs, DamagedOnesSayNothing) {
  for (const char* text :
       {"", "machine", "machine\nnamespace", "machine\nnamespace\nx", "machine\nnamespace\n-1"}) {
    EXPECT_EQ(Sign::parse(text).process, "") << text;
  }
  const Sign sign = Sign::parse("machine\nnamespace\n12");
  EXPECT_EQ(sign.machine, "machine");
  EXPECT_EQ(sign.launcher, "namespace");
  EXPECT_EQ(sign.process, "12");
}

}  // namespace
}  // namespace pippin::pipeline
