// Norms and softmax, emulated, against the CPU's scalar kernels.
#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include "pippin/cuda/fake/emulated_kernels.h"
#include "pippin/cuda/fake/node_testing.h"

namespace pippin::cuda {
namespace {

struct Layout {
  int64_t rows, columns, gap;
};
constexpr Layout kLayouts[] = {{1, 1, 0},   {3, 7, 2},    {2, 129, 0},  {9, 64, 4},
                               {1, 513, 0}, {2, 1000, 8}, {1, 4096, 0}, {1, 9001, 3}};

template <typename Node>
void check_layouts(const Node& node, float scale = 1) {
  TestArrays make(1);
  for (const auto& [rows, columns, gap] : kLayouts) {
    SCOPED_TRACE(columns);
    expect_as_cpu(node,
                  {make.result({rows, columns}, gap), make.floats({rows, columns}, gap, scale)});
    expect_as_cpu(node, {make.result({rows, columns}), make.floats({rows, columns}, gap, scale)});
  }
  expect_as_cpu(node, {make.result({0, 8}), make.floats({0, 8})});
}

TEST(CudaNorms, RmsNorm) {
  TestArrays make(1);
  for (const auto& [rows, columns, gap] : kLayouts) {
    const engine::RmsNormNode node{1e-5F};
    expect_as_cpu(node, {make.result({rows, columns}, gap), make.floats({rows, columns}, gap),
                         make.floats({columns})});
    TestArray shifted = make.floats({columns + 1});  // not aligned
    shifted.shape[0] = columns;
    shifted.offset = 1;
    expect_as_cpu(node,
                  {make.result({rows, columns}, gap), make.floats({rows, columns}, gap), shifted});
  }
  check_layouts(engine::RmsNormNode{1e-5F});
}

TEST(CudaNorms, RowsHaveTheirBitsWhateverTheAlignment) {
  TestArrays make(2);
  const int64_t n = 700;
  TestArray x = make.floats({1, n});
  TestArray moved = make.floats({1, n + 1});
  moved.shape[1] = n;
  moved.offset = 1;
  std::memcpy(moved.memory.data() + 4, x.memory.data(), 4 * n);
  const engine::LayerNormNode node{1e-5F};
  const auto run = [&](TestArray& from) {
    TestArray y = make.result({1, n});
    const engine::Node whole{node, {}, 1, {}};
    const std::vector<engine::Operand> operands = {y.operand(), from.operand()};
    HostWeights weights;
    const engine::ComputeOptions options;
    std::vector<Launch> launches;
    make_launcher({whole, options, {}, weights})->add({operands, {}, nullptr, nullptr}, launches);
    for (const Launch& launch : launches) {
      emulate_launch(launch.kernel, launch.arguments.data(), launch.blocks, 1, launch.depth,
                     launch.threads, launch.shared_bytes);
    }
    return y.memory;
  };
  EXPECT_EQ(run(x), run(moved));
}

TEST(CudaNorms, LayerNorm) {
  TestArrays make(3);
  for (const auto& [rows, columns, gap] : kLayouts) {
    const auto y = [&, rows = rows, columns = columns, gap = gap] {
      return make.result({rows, columns}, gap);
    };
    const auto x = [&, rows = rows, columns = columns, gap = gap] {
      TestArray array = make.floats({rows, columns}, gap);
      for (size_t i = 0; i < array.memory.size(); i += 4) {  // far from zero
        float number;
        std::memcpy(&number, array.memory.data() + i, 4);
        number += 50;
        std::memcpy(array.memory.data() + i, &number, 4);
      }
      return array;
    };
    const auto factors = [&, columns = columns] { return make.floats({columns}); };
    using Node = engine::LayerNormNode;
    NodeCheck check;
    check.tolerance = 2e-5F;
    if (columns > 1) expect_as_cpu(Node{1e-5F}, {y(), x()}, 1, check);
    if (columns > 1)
      expect_as_cpu(Node{1e-5F, true, true}, {y(), x(), factors(), factors()}, 1, check);
    expect_as_cpu(Node{1e-5F, true, false}, {y(), make.floats({rows, columns}, gap), factors()});
    expect_as_cpu(Node{1e-5F, false, true}, {y(), make.floats({rows, columns}, gap), factors()});
  }
}

TEST(CudaNorms, Others) {
  check_layouts(engine::L2NormNode{1e-12});
  check_layouts(engine::InstanceNormNode{{1, 2, 0.5F}, {0, -1, 3}, 1e-3F});
  check_layouts(engine::SoftmaxNode{}, 5);
}

TEST(CudaNorms, LocalResponse) {
  TestArrays make(4);
  for (const int64_t size : {1, 4, 5, 20}) {
    const engine::LocalResponseNode node{size, 0.1, 0.75F, 1.5F};
    expect_as_cpu(node, {make.result({2, 7, 5}), make.floats({2, 7, 5})});
  }
}

TEST(CudaNorms, SoftmaxOfSpecialRows) {
  const float inf = INFINITY;
  for (const int64_t columns : {4, 600}) {
    TestArrays make(5);
    TestArray x = make.floats({6, columns});
    const auto set = [&, columns = columns](int64_t row, int64_t column, float number) {
      std::memcpy(x.memory.data() + 4 * (row * columns + column), &number, 4);
    };
    for (int64_t i = 0; i < columns; ++i) set(0, i, -inf);
    for (int64_t i = 0; i < columns; ++i) set(1, i, i == 2 ? 1.0F : -inf);
    set(2, 3, NAN);
    set(3, 1, inf);
    set(4, columns - 1, -inf);
    set(5, 0, 3e38F);
    expect_as_cpu(engine::SoftmaxNode{}, {make.result({6, columns}), x});
  }
}

}  // namespace
}  // namespace pippin::cuda
