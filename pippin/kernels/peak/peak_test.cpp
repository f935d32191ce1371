#include "pippin/kernels/peak/peak.h"

#include <gtest/gtest.h>

namespace pippin::kernels {
namespace {

TEST(Peak, ScalarMachinesHaveNone) {
  EXPECT_EQ(choose_peak(CpuFeatures()), nullptr);
  EXPECT_EQ(choose_float_peak(CpuFeatures()), nullptr);
}

// For every kernel that this machine can run: each step adds 3 * 5 for every product.
TEST(Peak, EveryProductIsDone) {
  for (const CpuLevel& level : cpu_levels(detect_cpu())) {
    const PeakKernel* kernel = choose_peak(level.cpu);
    if (kernel == nullptr) continue;
    SCOPED_TRACE(kernel->name);
    const int32_t start = kernel->int8_dot(0);
    EXPECT_GT(start, 0);
    EXPECT_EQ(kernel->int8_dot(7) - start, 7 * kernel->operations / 2 * 3 * 5);
  }
}

// Each lane of the 12 sums starts at the sum's number and increases by 1 per step.
TEST(Peak, EveryFloatProductIsDone) {
  for (const CpuLevel& level : cpu_levels(detect_cpu())) {
    const FloatPeakKernel* kernel = choose_float_peak(level.cpu);
    if (kernel == nullptr) continue;
    SCOPED_TRACE(kernel->name);
    const auto lanes = static_cast<float>(kernel->operations / (2 * 12));
    const float start = lanes * (11 * 12 / 2);
    EXPECT_EQ(kernel->dot(0), start);
    EXPECT_EQ(kernel->dot(7), start + 7 * 12 * lanes);
  }
}

}  // namespace
}  // namespace pippin::kernels
