// Norms, emulated, against the CPU's scalar kernels.
#include <gtest/gtest.h>

#include "pippin/cuda/fake/node_testing.h"

namespace pippin::cuda {
namespace {

TEST(CudaNorms, RmsNorm) {
  TestArrays make(1);
  for (const auto& [rows, columns, gap] :
       {std::tuple{1, 1, 0}, {3, 7, 2}, {2, 129, 0}, {1, 4096, 0}, {5, 1000, 8}}) {
    const engine::RmsNormNode node{1e-5F};
    expect_as_cpu(node, {make.result({rows, columns}, gap), make.floats({rows, columns}, gap),
                         make.floats({columns})});
    expect_as_cpu(node, {make.result({rows, columns}), make.floats({rows, columns}, gap)});
  }
}

}  // namespace
}  // namespace pippin::cuda
