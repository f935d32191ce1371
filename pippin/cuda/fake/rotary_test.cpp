// Rotary embedding, emulated, against the CPU's scalar kernel.
#include <gtest/gtest.h>

#include "pippin/cuda/fake/node_testing.h"

namespace pippin::cuda {
namespace {

TEST(CudaRotary, HalvesAndPairs) {
  TestArrays make(1);
  for (const bool pairs : {false, true}) {
    for (const int64_t n : {2, 6, 8, 64}) {
      for (const int64_t width : {n, n / 2}) {
        for (const int64_t gap : {0, 3, 8}) {
          const engine::RotaryNode node{pairs};
          expect_as_cpu(node, {make.result({5, n}, gap), make.floats({5, n}, gap),
                               make.floats({5, width}, gap), make.floats({5, width}, gap)});
          const auto angles = [&] {  // of each token, for all heads
            return TestArrays::broadcast(make.floats({2, 1, 3, width}), {2, 4, 3, width});
          };
          const auto x = TestArrays::transposed(make.floats({2, 3, 4, n}, gap), {0, 2, 1, 3});
          expect_as_cpu(node, {make.result({2, 4, 3, n}), x, angles(), angles()});
          const auto row = TestArrays::broadcast(make.floats({1, width}), {5, width});
          expect_as_cpu(node, {make.result({5, n}), make.floats({5, n}), row, row});
        }
      }
    }
  }
}

TEST(CudaRotary, Nothing) {
  TestArrays make(2);
  expect_as_cpu(engine::RotaryNode{}, {make.result({0, 8}), make.floats({0, 8}),
                                       make.floats({0, 8}), make.floats({0, 8})});
}

}  // namespace
}  // namespace pippin::cuda
