#include "pippin/cuda/fake/gpu_node.h"

#include <gtest/gtest.h>

#include "pippin/cuda/fake/fake_driver.h"

namespace pippin::cuda {
namespace {

// The way of tests to a real GPU, over the stand-in for the driver.
TEST(CudaGpuNode, RunsOnADriver) {
  TestArrays make(5);
  std::vector<TestArray> arrays = {make.result({3, 40}, 2), make.floats({3, 40}),
                                   make.floats({40})};
  const engine::NodeKind kind = engine::RmsNormNode{};
  auto have = arrays;
  const NodeCheck check;
  FakeDriver fake;
  static constexpr std::byte kBytes[16] = {};
  const KernelImage image = kBytes;
  Resources gpu(fake.driver(), 0, {&image, 1}, RunOptions());
  run_on_gpu(gpu, node_of(kind, arrays, 1), options_of(check), check, have);
  const auto want = run_emulated(kind, arrays, 1, check);
  for (size_t i = 0; i < arrays.size(); ++i) EXPECT_EQ(have[i].memory, want[i].memory) << i;
  EXPECT_NE(have[0].memory, arrays[0].memory);
}

}  // namespace
}  // namespace pippin::cuda
