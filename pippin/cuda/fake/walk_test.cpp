// Walks over strided arrays.
#include "pippin/cuda/launchers/walk.h"

#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

#include "pippin/cuda/fake/node_testing.h"

namespace pippin::cuda {
namespace {

engine::Operand operand_of(std::vector<int64_t> shape, std::vector<int64_t> strides,
                           uintptr_t address) {
  engine::Operand operand;
  operand.data = reinterpret_cast<std::byte*>(address);  // never read
  operand.rank = static_cast<int>(shape.size());
  std::copy(shape.begin(), shape.end(), operand.shape);
  std::copy(strides.begin(), strides.end(), operand.strides);
  return operand;
}

std::vector<Walk> walks_of(const std::vector<engine::Operand>& operands) {
  std::vector<Walk> walks;
  for_walks(operands, true, [&](const Walk& walk) { walks.push_back(walk); });
  return walks;
}

TEST(CudaWalk, MergesAxesAndFindsGroups) {
  const auto walks =
      walks_of({operand_of({2, 3, 8}, {24, 8, 1}, 256), operand_of({2, 3, 8}, {24, 8, 1}, 4096)});
  ASSERT_EQ(walks.size(), 1u);
  EXPECT_EQ(walks[0].axes.rank, 1);
  EXPECT_EQ(walks[0].axes.width, 4);
  EXPECT_EQ(walks[0].axes.count, 12u);
  EXPECT_EQ(walks[0].axes.strides[1][0], 4);

  const auto shifted =
      walks_of({operand_of({2, 8}, {8, 1}, 256), operand_of({2, 8}, {0, 1}, 4100)});
  ASSERT_EQ(shifted.size(), 1u);
  EXPECT_EQ(shifted[0].axes.rank, 2);
  EXPECT_EQ(shifted[0].axes.width, 1);
  EXPECT_TRUE(walks_of({operand_of({2, 0}, {0, 1}, 256)}).empty());
}

TEST(CudaWalk, SplitsWhatIndicesOf32BitsCannotCount) {
  constexpr int64_t kRow = int64_t{3} << 30;
  const auto walks =
      walks_of({operand_of({3, kRow}, {kRow, 1}, 4096), operand_of({3, kRow}, {0, 1}, 8192)});
  int64_t count = 0;
  uintptr_t next = 4096;
  for (const Walk& walk : walks) {
    EXPECT_LT(int64_t{walk.axes.count} * walk.axes.width, int64_t{1} << 31);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(walk.data[0]), next);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(walk.data[1]), 8192 + count % kRow * 4);
    count += int64_t{walk.axes.count} * walk.axes.width;
    next = 4096 + static_cast<uintptr_t>(count) * 4;
  }
  EXPECT_EQ(count, 3 * kRow);
}

// A view of up to 8 axes, with repeated ones and gaps, in any order.
TestArray random_view(TestArrays& make, const std::vector<int64_t>& shape, bool is_result) {
  std::mt19937& random = make.random();
  std::vector<size_t> order(shape.size()), places(shape.size());
  std::iota(order.begin(), order.end(), size_t{0});
  if (random() % 2 == 0) std::shuffle(order.begin(), order.end(), random);
  std::vector<int64_t> stored;
  stored.reserve(shape.size());
  for (size_t i = 0; i < order.size(); ++i) {
    stored.push_back(!is_result && random() % 4 == 0 ? 1 : shape[order[i]]);
    places[order[i]] = i;
  }
  const auto gap = static_cast<int64_t>(random() % 3 * 4 / 2);
  TestArray array = is_result ? make.result(stored, gap) : make.floats(stored, gap);
  return TestArrays::broadcast(TestArrays::transposed(array, places), shape);
}

TEST(CudaWalk, RandomViews) {
  const uint32_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  TestArrays make(seed);
  for (int i = 0; i < 150; ++i) {
    std::vector<int64_t> shape(make.random()() % 9);
    constexpr int64_t kSizes[] = {1, 2, 3, 4, 8, 17};
    int64_t size = 1;
    for (int64_t& n : shape) {
      n = kSizes[make.random()() % std::size(kSizes)];
      if (size * n > 3000) n = 1;
      size *= n;
    }
    expect_as_cpu(engine::CopyNode{},
                  {random_view(make, shape, true), random_view(make, shape, false)});
    expect_as_cpu(
        engine::BinaryNode{"sub", kernels::BinaryOp::Sub},
        {make.result(shape), random_view(make, shape, false), random_view(make, shape, false)});
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace pippin::cuda
