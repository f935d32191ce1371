// main() of every test program. As gtest's own, and the last line says how many tests were skipped:
//
//   skipped tests: 12, for want of shared data: 11
//
// A run without a failure in which shared data was wanting ends with the status 77, which ctest
// shows as skipped instead of passed. A filter that matches no test is an error.
#include <cstring>
#include <iostream>
#include <string>

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

}  // namespace
}  // namespace pippin

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  auto* skipped = new pippin::SkippedTests;  // gtest owns it from here on
  testing::UnitTest::GetInstance()->listeners().Append(skipped);
  const int status = RUN_ALL_TESTS();
  if (testing::UnitTest::GetInstance()->test_to_run_count() == 0) {
    std::cerr << "no test has a name that --gtest_filter matches" << std::endl;
    return 1;
  }
  return status == 0 && skipped->any_absent() ? pippin::kSharedDataAbsent : status;
}
