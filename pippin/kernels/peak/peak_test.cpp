#include "pippin/kernels/peak/peak.h"

#include <gtest/gtest.h>

namespace pippin::kernels {
namespace {

TEST(Peak, ScalarMachinesHaveNone) {
  EXPECT_EQ(choose_peak(CpuFeatures()), nullptr);
}

// Each of 16 lanes of 16 sums starts at the sum's number and gains 4 * 3 * 5 a step.
TEST(Peak, EveryProductIsDone) {
  const PeakKernel* kernel = choose_peak(cpu_features());
  if (kernel == nullptr) GTEST_SKIP() << "no kernel for this machine";
  const int64_t lanes = kernel->operations / (2 * 4);  // four products to a lane
  ASSERT_EQ(lanes, 256);
  const int32_t start = 16 * (15 * 16 / 2);
  EXPECT_EQ(kernel->int8_dot(0), start);
  EXPECT_EQ(kernel->int8_dot(7), start + 7 * 256 * 4 * 3 * 5);
}

}  // namespace
}  // namespace pippin::kernels
