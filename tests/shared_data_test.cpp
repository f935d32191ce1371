// If the shared data is absent, a test that needs it is skipped and counted, or fails if the data
// is required.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/base/testing.h"
#include "tests/process.h"

namespace pippin {
namespace {

// Run without shared data by the tests below.
TEST(SharedData, DISABLED_Wanting) {
  PIPPIN_SHARED_OR_SKIP(folder, "models");
  FAIL() << folder;
}
TEST(SharedData, DISABLED_OtherwiseSkipped) {
  GTEST_SKIP() << "for another reason";
}
TEST(SharedData, DISABLED_Failing) {
  FAIL();
}

constexpr char kAbsent[] = "shared test data is absent: data/models";

ProcessResult run_without_data(const std::vector<std::string>& command, const char* required) {
  const std::map<std::string, std::string> environment = {{"PIPPIN_SHARED", "/no/such/folder"},
                                                          {"PIPPIN_REQUIRE_SHARED", required}};
  return run_process(command, {.environment = environment});
}

ProcessResult run_tests(const std::string& filter, const char* required) {
  return run_without_data(
      {PIPPIN_THIS_PROGRAM, "--gtest_also_run_disabled_tests", "--gtest_filter=" + filter},
      required);
}

void expect_line(const std::string& text, const std::string& line) {
  EXPECT_NE(("\n" + text).find("\n" + line + "\n"), std::string::npos) << text;
}

TEST(SharedData, AProgramWithTestsThatWantItIsSkipped) {
  for (const char* required : {"", "0"}) {
    const auto result = run_tests("*DISABLED_Wanting:*DISABLED_OtherwiseSkipped", required);
    EXPECT_EQ(result.status, 77);
    EXPECT_NE(result.out.find(kAbsent), std::string::npos) << result.out;
    expect_line(result.out, "checks: 2, skipped: 2: for another reason 1, shared data 1");
  }
}

TEST(SharedData, WhatFailsIsNotHiddenByWhatIsSkipped) {
  const auto result = run_tests("*DISABLED_Wanting:*DISABLED_Failing", "");
  EXPECT_EQ(result.status, 1);
  expect_line(result.out, "checks: 2, skipped: 1: shared data 1");
}

TEST(SharedData, OtherReasonsToSkipPass) {
  const auto result = run_tests("*DISABLED_OtherwiseSkipped", "1");
  EXPECT_EQ(result.status, 0);
  expect_line(result.out, "checks: 1, skipped: 1: for another reason 1");
}

TEST(SharedData, WhereItIsRequiredItsAbsenceFails) {
  const auto result = run_tests("*DISABLED_Wanting", "1");
  EXPECT_EQ(result.status, 1);
  EXPECT_NE(result.out.find(kAbsent), std::string::npos) << result.out;
}

// Labels are patterns: one left over from a renamed suite would match nothing.
TEST(Filters, EachPatternHasToMatchATest) {
  for (const char* filter : {"*OtherwiseSkipped:Gone/Suite.*", "*OtherwiseSkipped-Gone/Suite.*"}) {
    const auto result = run_tests(filter, "");
    EXPECT_EQ(result.status, 1);
    expect_line(result.err, "no test has a name that 'Gone/Suite.*' of --gtest_filter matches");
  }
}

TEST(SharedData, PythonTestsDoTheSame) {
  const std::string program = R"(import sys
sys.path.insert(0, sys.argv.pop(1))
import testing, unittest
class Wanting(unittest.TestCase):
  def test_it(self):
    self.fail(testing.shared_data("models"))
testing.main()
)";
  const std::vector<std::string> command = {PIPPIN_PYTHON, "-B", "-c", program,
                                            (source_dir() / "tests/python").string()};
  const auto skipped = run_without_data(command, "");
  EXPECT_EQ(skipped.status, 77);
  expect_line(skipped.err, "checks: 1, skipped: 1: shared data 1");
  const auto failed = run_without_data(command, "1");
  EXPECT_EQ(failed.status, 1);
  EXPECT_NE(failed.err.find(kAbsent), std::string::npos) << failed.err;
}

}  // namespace
}  // namespace pippin
