#include "tests/process.h"

#include <csignal>

#include <gtest/gtest.h>

namespace pippin {
namespace {

TEST(Process, GivesBothOutputsAndTheStatus) {
  const auto result = run_process({"/bin/sh", "-c", "cat; echo \"$NAME\" >&2; pwd; exit 7"},
                                  {.input = "in\n", .environment = {{"NAME", "x"}}, .folder = "/"});
  EXPECT_EQ(result.out, "in\n/\n");
  EXPECT_EQ(result.err, "x\n");
  EXPECT_EQ(result.status, 7);
  EXPECT_FALSE(result.timed_out);
}

TEST(Process, MuchTextBothWaysDoesNotBlock) {
  const std::string text(3 << 20, 'x');
  EXPECT_EQ(run_process({"/bin/cat"}, {.input = text}).out, text);
  EXPECT_EQ(run_process({"/bin/true"}, {.input = text}).status, 0);
}

TEST(Process, SignalsAndTimeouts) {
  Process process({"/bin/sh", "-c", "echo ready; exec sleep 60"});
  ASSERT_TRUE(process.wait_for_output(6));
  process.signal(SIGTERM);
  EXPECT_EQ(process.wait().status, 128 + SIGTERM);

  const auto late = run_process({"/bin/sleep", "60"}, {.timeout = std::chrono::seconds(1)});
  EXPECT_TRUE(late.timed_out);
  EXPECT_EQ(run_process({"/no/such/program"}).status, 127);
}

}  // namespace
}  // namespace pippin
