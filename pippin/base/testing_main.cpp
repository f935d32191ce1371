// main() for all test programs. Like gtest's own, but the last line, which tests/skipped.py sums
// up, says how many tests ran, and how many were skipped for which reason:
//
//   checks: 40, skipped: 12: shared data 11, no /dev/zero here 1
//
// A line before it says if a test saw the entries of only one data location. A run without failures
// that lacked shared data exits with status 77, which ctest shows as skipped rather than passed. A
// filter pattern that matches no test is an error: otherwise a renamed test would silently lose its
// label from cmake/pippin.cmake.
#include <algorithm>
#include <cstring>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <fnmatch.h>
#include <gtest/gtest.h>

#include "pippin/base/testing.h"

namespace pippin {
namespace {

constexpr int kSharedDataAbsent = 77;

constexpr const char* kSharedData = "shared data";

class CountedTests : public testing::EmptyTestEventListener {
 public:
  void OnTestEnd(const testing::TestInfo& test) override {
    ++checks_;
    if (test.result()->Skipped()) ++reasons_[reason_of(*test.result())];
  }
  // After gtest's own last lines.
  void OnTestProgramEnd(const testing::UnitTest& /*all*/) override {
    int skipped = 0;
    std::string reasons;
    for (const auto& [reason, count] : reasons_) {
      skipped += count;
      reasons += (reasons.empty() ? ": " : ", ") + reason + " " + std::to_string(count);
    }
    if (wants_more_entries()) std::cout << "shared data has more entries\n";
    std::cout << "checks: " << checks_ << ", skipped: " << skipped << reasons << std::endl;
  }
  bool shared_data_absent() const { return reasons_.contains(kSharedData); }

 private:
  static std::string reason_of(const testing::TestResult& result) {
    const std::string absent = pippin::shared_data_absent("");
    std::string reason;
    for (int i = 0; i < result.total_part_count(); ++i) {
      const char* message = result.GetTestPartResult(i).message();
      if (std::strstr(message, absent.c_str()) != nullptr) return kSharedData;
      std::istringstream lines(message);
      while (reason.empty() && std::getline(lines, reason)) {
        if (reason == "Skipped") reason.clear();  // gtest's own first line
      }
    }
    std::replace(reason.begin(), reason.end(), ',', ';');
    return reason.empty() ? "no reason" : reason;
  }

  int checks_ = 0;
  std::map<std::string, int> reasons_;
};

// Returns the first pattern of `filter` ("A.*:B.c-D.*") that matches no test, or "".
std::string pattern_without_test(std::string filter) {
  std::vector<std::string> names;
  const testing::UnitTest& unit = *testing::UnitTest::GetInstance();
  for (int i = 0; i < unit.total_test_suite_count(); ++i) {
    const testing::TestSuite& suite = *unit.GetTestSuite(i);
    for (int j = 0; j < suite.total_test_count(); ++j) {
      names.push_back(std::string(suite.name()) + "." + suite.GetTestInfo(j)->name());
    }
  }
  // Test names contain no dash: the first one begins the excluded patterns.
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
  auto* counted = new pippin::CountedTests;  // gtest takes ownership
  testing::UnitTest::GetInstance()->listeners().Append(counted);
  const std::string unmatched = pippin::pattern_without_test(GTEST_FLAG_GET(filter));
  if (!unmatched.empty()) {
    std::cerr << "no test has a name that '" << unmatched << "' of --gtest_filter matches"
              << std::endl;
    return 1;
  }
  const int status = RUN_ALL_TESTS();
  return status == 0 && counted->shared_data_absent() ? pippin::kSharedDataAbsent : status;
}
