// Gather and scatter, emulated, against the CPU's.
#include <gtest/gtest.h>

#include "pippin/cuda/fake/emulated_kernels.h"
#include "pippin/cuda/fake/node_testing.h"

namespace pippin::cuda {
namespace {

using engine::Combine;
using engine::GatherNode;
using engine::ScatterNode;
using engine::Storage;
using Shape = std::vector<int64_t>;

TestArray with_view(TestArray array, Shape shape, Shape strides) {
  array.shape = std::move(shape);
  array.strides = std::move(strides);
  return array;
}
NodeCheck with_scalars(std::vector<int64_t> scalars) {
  NodeCheck check;
  check.scalars = std::move(scalars);
  return check;
}

TEST(CudaLookups, GathersRows) {
  TestArrays make(1);
  for (const bool from_end : {false, true}) {
    const GatherNode node{{"gather", "gather", from_end, false}};
    for (const int64_t slice : {1, 3, 8, 260}) {
      for (const Storage from : {Storage::F32, Storage::F16, Storage::BF16}) {
        const TestArray table =
            from == Storage::F32 ? make.floats({9, slice}, 4) : make.halves({9, slice}, from, 4);
        const int64_t stride = table.strides[0];
        expect_as_cpu(node,
                      {make.result({1, 1, 5, slice}),
                       with_view(table, {1, 1, 5, slice}, {9 * stride, 9 * stride, 0, 1}),
                       make.integers({1, 1, 5, 1}, -12, 12)},
                      1, with_scalars({9, stride}));
      }
    }
  }
}

TEST(CudaLookups, GathersAlongAxes) {
  TestArrays make(2);
  const GatherNode node{{"gather_along_axis", "gather", true, false}};
  for (const int64_t inner : {1, 4, 7}) {  // each element by its own index
    expect_as_cpu(
        node,
        {make.result({3, 6, inner, 1}, 0, Storage::I32),
         with_view(make.integers({3, 5, inner}, 0, 1000), {3, 6, inner, 1}, {5 * inner, 0, 1, 1}),
         with_view(make.integers({3, 6, inner}, -5, 5), {3, 6, inner, 1},
                   {6 * inner, inner, 1, 1})},
        1, with_scalars({5, inner}));
  }
  // By two coordinates.
  expect_as_cpu(
      node,
      {make.result({2, 1, 6, 4}), with_view(make.floats({2, 3, 5, 4}), {2, 1, 6, 4}, {60, 0, 0, 1}),
       with_view(make.integers({2, 6, 2}, -2, 3), {2, 1, 6, 2}, {12, 0, 2, 1})},
      1, with_scalars({3, 5, 20, 4}));
  // From a transposed table.
  expect_as_cpu(
      node,
      {make.result({1, 1, 6, 8}), with_view(make.floats({8, 5}), {1, 1, 6, 8}, {0, 0, 0, 5}),
       make.integers({1, 1, 6, 1}, 0, 5)},
      1, with_scalars({5, 1}));
  expect_as_cpu(
      node,
      {make.result({1, 1, 0, 8}), with_view(make.floats({5, 8}), {1, 1, 0, 8}, {0, 0, 0, 1}),
       make.integers({1, 1, 0, 1}, 0, 5)},
      1, with_scalars({5, 8}));
}

// Whether the run is refused.
bool fails(const engine::NodeKind& kind, std::vector<TestArray> arrays, const NodeCheck& check) {
  engine::Node node{kind, {}, 1, {}};
  std::vector<engine::Operand> operands;
  operands.reserve(arrays.size());
  for (TestArray& array : arrays) operands.push_back(array.operand());
  HostWeights weights;
  const engine::ComputeOptions options;
  const LauncherPointer launcher = make_launcher({node, options, check.limits, weights});
  uint32_t failed = 0;
  std::vector<Launch> launches;
  launcher->add({operands, check.scalars, nullptr, &failed}, launches);
  for (const Launch& launch : launches) {
    emulate_launch(launch.kernel, launch.arguments.data(), launch.blocks, 1, launch.depth,
                   launch.threads, launch.shared_bytes);
  }
  return failed != 0;
}

TEST(CudaLookups, RefusesIndicesOutside) {
  TestArrays make(3);
  const auto arrays = [&](int32_t index, int64_t size) {
    return std::vector<TestArray>{make.result({1, 1, 1, 8}),
                                  with_view(make.floats({size, 8}), {1, 1, 1, 8}, {0, 0, 0, 1}),
                                  make.integers({1, 1, 1, 1}, index, index + 1)};
  };
  for (const auto& [index, size, from_end, refuse, expected] : {std::tuple{4, 5, true, true, false},
                                                                {5, 5, true, true, true},
                                                                {-5, 5, true, true, false},
                                                                {-6, 5, true, true, true},
                                                                {-1, 5, false, true, true},
                                                                {7, 5, true, false, false},
                                                                {0, 0, true, false, true}}) {
    const GatherNode node{{"gather", "gather", from_end, refuse}};
    EXPECT_EQ(fails(node, arrays(index, size), with_scalars({size, 8})), expected)
        << index << " of " << size;
  }
}

TEST(CudaLookups, ScattersInOrder) {
  TestArrays make(4);
  for (int op = 0; op < 7; ++op) {
    SCOPED_TRACE(op);
    const auto combine = static_cast<Combine>(op);
    const ScatterNode node{{"scatter", "scatter", true, false}, combine};
    for (const bool integers : {false, true}) {
      if (integers && combine == Combine::Div) continue;
      const auto array = [&](Shape shape) {
        return integers ? make.integers(std::move(shape), -5, 5) : make.floats(std::move(shape));
      };
      // Tables are seen as a whole here. Slices along the first axis; several places are the same.
      expect_as_cpu(node,
                    {with_view(array({5, 8}), {1, 1, 1, 40}, {0, 0, 0, 1}), array({1, 1, 9, 8}),
                     make.integers({1, 1, 9, 1}, -6, 6)},
                    1, with_scalars({5, 8}));
      // Along the second axis of [3, 5, 4], the first one in the place of the second.
      expect_as_cpu(
          node,
          {with_view(array({3, 5, 4}), {3, 1, 1, 20}, {20, 60, 0, 1}), array({3, 1, 6, 4}),
           with_view(make.integers({6}, 0, 5), {3, 1, 6, 1}, {0, 6, 1, 1})},
          1, with_scalars({5, 4}));
      // Element by element.
      expect_as_cpu(node,
                    {with_view(array({3, 5, 4}), {3, 1, 20, 1}, {20, 0, 1, 1}), array({3, 7, 4, 1}),
                     with_view(make.integers({3, 7, 4}, -5, 5), {3, 7, 4, 1}, {28, 4, 1, 1})},
                    1, with_scalars({5, 4}));
      // By coordinates.
      expect_as_cpu(node,
                    {with_view(array({3, 5, 2}), {1, 1, 1, 30}, {30, 0, 0, 1}), array({1, 1, 8, 2}),
                     with_view(make.integers({8, 2}, 0, 3), {1, 1, 8, 2}, {16, 0, 2, 1})},
                    1, with_scalars({3, 5, 10, 2}));
    }
  }
}

}  // namespace
}  // namespace pippin::cuda
