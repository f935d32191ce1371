// main() of every test program. As gtest's own, and the last line says how many tests were skipped:
//
//   skipped tests: 12, for want of shared data: 11
//
// A run without a failure in which shared data was wanting ends with the status 77, which ctest
// shows as skipped instead of passed. A filter with a pattern that matches no test is an error: a
// test that was renamed would leave the label that cmake/pippin.cmake gave it unseen.
#include <algorithm>
#include <cstring>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include <fnmatch.h>
#include <gtest/gtest.h>

#include "pippin/base/testing.h"

namespace pippin {
namespace {

constexpr int kSharedDataAbsent = 77;

class SkippedTests : public testing::EmptyTestEventListener {
 public:
  void OnTestEnd(const testing::TestInfo& test) override {
    const testing::TestResult& result = *test.result();
    if (!result.Skipped()) return;
    ++skipped_;
    const std::string absent = shared_data_absent("");
    for (int i = 0; i < result.total_part_count(); ++i) {
      if (std::strstr(result.GetTestPartResult(i).message(), absent.c_str()) == nullptr) continue;
      ++absent_;
      return;
    }
  }
  // After gtest's own last lines.
  void OnTestProgramEnd(const testing::UnitTest& /*all*/) override {
    if (skipped_ == 0) return;
    std::cout << "skipped tests: " << skipped_ << ", for want of shared data: " << absent_
              << std::endl;
  }
  bool any_absent() const { return absent_ > 0; }

 private:
  int skipped_ = 0;
  int absent_ = 0;
};

// The first pattern of `filter` ("A.*:B.c-D.*") that matches no test of the program, or "".
std::string pattern_without_test(std::string filter) {
  std::vector<std::string> names;
  const testing::UnitTest& unit = *testing::UnitTest::GetInstance();
  for (int i = 0; i < unit.total_test_suite_count(); ++i) {
    const testing::TestSuite& suite = *unit.GetTestSuite(i);
    for (int j = 0; j < suite.total_test_count(); ++j) {
      names.push_back(std::string(suite.name()) + "." + suite.GetTestInfo(j)->name());
    }
  }
  // Names of tests have no dash: the first one begins the patterns that are left out.
  std::replace(filter.begin(), filter.end(), '-', ':');
  std::istringstream patterns(filter);
  for (std::string pattern; std::getline(patterns, pattern, ':');) {
    const auto matches = [&](const std::string& name) {
      return ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
    };
    if (!pattern.empty() && std::none_of(names.begin(), names.end(), matches)) return pattern;
  }
  return "";
}

}  // namespace
}  // namespace pippin

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  auto* skipped = new pippin::SkippedTests;  // gtest owns it from here on
  testing::UnitTest::GetInstance()->listeners().Append(skipped);
  const std::string unmatched = pippin::pattern_without_test(GTEST_FLAG_GET(filter));
  if (!unmatched.empty()) {
    std::cerr << "no test has a name that '" << unmatched << "' of --gtest_filter matches"
              << std::endl;
    return 1;
  }
  const int status = RUN_ALL_TESTS();
  return status == 0 && skipped->any_absent() ? pippin::kSharedDataAbsent : status;
}
