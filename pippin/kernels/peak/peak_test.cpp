#include "pippin/kernels/peak/peak.h"

#include <gtest/gtest.h>

namespace pippin::kernels {
namespace {

TEST(Peak, ScalarMachinesHaveNone) {
  EXPECT_EQ(choose_peak(CpuFeatures()), nullptr);
}

// Of every kernel that this machine can run: each step adds 3 * 5 for every product.
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

}  // namespace
}  // namespace pippin::kernels
