// Stacked matrices and experts against the CPU's scalar kernels.
#include <cstring>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/cuda/fake/node_testing.h"
#include "pippin/cuda/fake/weight_testing.h"
#include "pippin/kernels/rows/args.h"

namespace pippin::cuda {
namespace {

using engine::ExpertsNode;
using engine::Precision;
using engine::StackedDotNode;
using engine::WeightStack;

// Matrices with the memory of a TestArray, which must live as long.
WeightStack dense_stack(const TestArray& array) {
  engine::DenseStack dense{array.storage, {}};
  const int64_t count = array.shape[0], n = array.shape[1], k = array.shape[2];
  for (int64_t i = 0; i < count; ++i) {
    dense.matrices.push_back(array.memory.data() + i * n * k * engine::element_size(array.storage));
  }
  return {count, n, k, dense};
}

WeightStack quantized_stack(const WeightCase& one, int64_t count, int64_t n, int64_t k,
                            uint32_t seed) {
  return {count, n, k, random_weight(one, count, n * k, seed)};
}
WeightCase int4_blocks(int64_t columns) {
  return {.name = "int4", .block_columns = columns};
}

WeightStack narrow_stack(int64_t count, int64_t n, int64_t k, uint32_t seed) {
  return {count, n, k, random_narrow(kernels::WeightType::BF16, count * n, k, seed)};
}

TEST(CudaExperts, StackedDots) {
  TestArrays make(1);
  for (const int64_t m : {1, 3}) {
    const TestArray w = make.halves({3, 5, 24});
    expect_as_cpu(StackedDotNode{"matmul", dense_stack(w)},
                  {make.result({3, m, 5}, 2), make.floats({3, m, 24}, 1)});
    NodeCheck check;
    expect_as_cpu(StackedDotNode{"matmul", narrow_stack(3, 10, 40, 1)},
                  {make.result({3, m, 10}), make.floats({3, m, 40})}, 1, check);
    for (const Precision precision : {Precision::Exact, Precision::Fast}) {
      check.precision = precision;
      expect_as_cpu(StackedDotNode{"matmul", quantized_stack(int4_blocks(32), 3, 6, 64, 1)},
                    {make.result({3, m, 6}), make.floats({3, m, 64})}, 1, check);
      expect_as_cpu(StackedDotNode{"matmul", quantized_stack(int4_blocks(64 * 6), 3, 6, 64, 1)},
                    {make.result({3, m, 6}), make.floats({3, m, 64})}, 1, check);
    }
  }
}

// Weights of 0 but for `chosen` of each row.
TestArray choose(TestArrays& make, int64_t rows, int64_t candidates, int64_t chosen) {
  TestArray weights = make.floats({rows, candidates});
  const float zero = 0;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < candidates - chosen; ++j) {
      const int64_t at = i * candidates + (i * 3 + j) % candidates;
      std::memcpy(weights.memory.data() + at * 4, &zero, 4);
    }
  }
  return weights;
}

TEST(CudaExperts, Dense) {
  TestArrays make(2);
  constexpr int64_t kExperts = 5, kFeatures = 20, kHidden = 13;
  const TestArray gate = make.halves({kExperts, kHidden, kFeatures}),
                  up = make.halves({kExperts, kHidden, kFeatures}),
                  down = make.halves({kExperts, kFeatures, kHidden});
  for (const auto& [rows, chosen, known] :
       {std::tuple{1, 2, true}, {4, 2, true}, {3, 1, false}, {2, 0, false}}) {
    ExpertsNode node{dense_stack(gate), dense_stack(up), dense_stack(down), kExperts};
    node.chosen = known ? chosen : 0;
    const auto weights = choose(make, rows, kExperts, chosen);
    const auto x = make.floats({rows, kFeatures}, 3), out = make.result({rows, kFeatures}, 1);
    expect_as_cpu(node, {out, x, weights});
    node.activation = kernels::GateOp::GeluTanh;
    node.limit = 1.5F;
    node.up_shift = 1;
    node.gate_bias = node.up_bias = node.down_bias = true;
    const auto gate_bias = make.floats({kExperts, kHidden}),
               up_bias = make.floats({kExperts, kHidden}),
               down_bias = make.floats({kExperts, kFeatures});
    expect_as_cpu(node, {out, x, weights, gate_bias, up_bias, down_bias});
    node.weights_scale_input = true;
    expect_as_cpu(node, {out, x, weights, gate_bias, up_bias, down_bias});
    node.has_indices = true;
    const auto candidates = choose(make, rows, 3, std::min<int64_t>(chosen, 2));
    expect_as_cpu(node, {out, x, candidates, make.integers({3}, -kExperts - 1, kExperts + 2),
                         gate_bias, up_bias, down_bias});
  }
}

TEST(CudaExperts, Narrow) {
  TestArrays make(4);
  constexpr int64_t kExperts = 4, kFeatures = 40, kHidden = 72;
  const ExpertsNode node{narrow_stack(kExperts, kHidden, kFeatures, 1),
                         narrow_stack(kExperts, kHidden, kFeatures, 2),
                         narrow_stack(kExperts, kFeatures, kHidden, 3), kExperts};
  NodeCheck check;
  check.precision = Precision::Fast;
  for (const int64_t rows : {1, 3}) {
    expect_as_cpu(node,
                  {make.result({rows, kFeatures}), make.floats({rows, kFeatures}),
                   choose(make, rows, kExperts, 2)},
                  1, check);
  }
}

TEST(CudaExperts, Quantized) {
  TestArrays make(3);
  constexpr int64_t kExperts = 4, kFeatures = 64, kHidden = 96;
  ExpertsNode node{quantized_stack(int4_blocks(32), kExperts, kHidden, kFeatures, 1),
                   quantized_stack(int4_blocks(32), kExperts, kHidden, kFeatures, 2),
                   quantized_stack(int4_blocks(32), kExperts, kFeatures, kHidden, 3), kExperts};
  NodeCheck check;
  for (const Precision precision : {Precision::Exact, Precision::Fast}) {
    check.precision = precision;
    // Hidden numbers of other sums may be rounded to other 8 bits.
    check.tolerance = precision == Precision::Fast ? 2e-3F : 1e-5F;
    for (const int64_t rows : {1, 3}) {
      expect_as_cpu(node,
                    {make.result({rows, kFeatures}), make.floats({rows, kFeatures}),
                     choose(make, rows, kExperts, 2)},
                    1, check);
    }
  }
}

}  // namespace
}  // namespace pippin::cuda
