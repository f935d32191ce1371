// Products against the CPU's scalar kernels.
#include <cstring>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/base/numbers/float16.h"
#include "pippin/cuda/fake/node_testing.h"
#include "pippin/cuda/fake/weight_testing.h"
#include "pippin/cuda/launchers/dot_launches.h"
#include "pippin/engine/cpu/limits.h"

namespace pippin::cuda {
namespace {

using engine::BatchedDotNode;
using engine::DenseWeight;
using engine::DotNode;
using engine::Precision;
using engine::QuantizedGatherNode;
using engine::Storage;

DotNode dot_node(std::vector<DotNode::Product> products, bool has_residual = false) {
  return {"linear", std::move(products), has_residual};
}

// Row i of an array alone.
TestArray row_of(const TestArray& array, int64_t i) {
  TestArray row = array;
  row.offset += i * row.strides[0];
  row.shape[0] = 1;
  return row;
}

// The first array is written, the second is x.
void expect_same_bits_alone(const DotNode& node, std::vector<TestArray> arrays,
                            const NodeCheck& check = {}) {
  const auto together = run_emulated(node, arrays, 1, check)[0];
  const int64_t m = together.shape[0], n = together.shape[1];
  for (int64_t i = 0; i < m; i += m - 1) {
    auto alone = arrays;
    alone[0] = row_of(arrays[0], i);
    alone[1] = row_of(arrays[1], i);
    const TestArray result = run_emulated(node, alone, 1, check)[0];
    for (int64_t j = 0; j < n; ++j) {
      ASSERT_EQ(result.number(j), together.number(i * n + j)) << "row " << i << " of " << m;
    }
  }
}

TEST(CudaDots, Dense) {
  TestArrays make(1);
  for (const Storage storage : {Storage::F32, Storage::F16, Storage::BF16}) {
    for (const auto& [m, n, k, gap] : {std::tuple{1, 1, 1, 0},
                                       {1, 7, 32, 4},
                                       {1, 33, 1000, 0},
                                       {2, 9, 48, 1},
                                       {3, 33, 96, 8},
                                       {9, 7, 257, 3},
                                       {33, 5, 520, 0}}) {
      auto w =
          storage == Storage::F32 ? make.floats({n, k}, gap) : make.halves({n, k}, storage, gap);
      const DotNode node = dot_node({{n, DenseWeight{storage}, true}}, true);
      expect_as_cpu(node, {make.result({m, n}, 3), make.floats({m, k}, gap), std::move(w),
                           make.floats({n}), make.floats({m, n}, 2)});
    }
  }
}

TEST(CudaDots, Narrow) {
  TestArrays make(12);
  for (const kernels::WeightType type : {kernels::WeightType::F16, kernels::WeightType::BF16}) {
    uint32_t seed = 0;
    for (const auto& [m, n, k] : {std::tuple{1, 7, 32},
                                  {1, 33, 1000},
                                  {3, 33, 96},
                                  {9, 7, 257},
                                  {5, 12, 520},
                                  {33, 5, 130}}) {
      const auto weight = random_narrow(type, n, k, ++seed);
      EXPECT_TRUE(n * k < 512 || weight->matrix.begins[n] > 0);
      const DotNode node = dot_node({{n, weight, true}}, true);
      NodeCheck check;
      check.precision = Precision::Fast;
      expect_as_cpu(
          node,
          {make.result({m, n}, 3), make.floats({m, k}, 3), make.floats({n}), make.floats({m, n})},
          1, check);
      if (HasFatalFailure()) return;
    }
  }
}

// Two numbers of 16 bits for each of x: 22 bits, or 16 with bf16.
TEST(CudaDots, HalvesOnTensorCores) {
  TestArrays make(13);
  uint32_t seed = 0;
  for (const auto form : {MatrixForm::F16, MatrixForm::BF16, MatrixForm::E4M7}) {
    for (const auto& [m, n, k, scale] : {std::tuple{1, 7, 8, 1.0F},
                                         {1, 33, 1000, 1e30F},
                                         {1, 3, 8200, 1.0F},
                                         {3, 20, 96, 1e-30F},
                                         {17, 17, 584, 1.0F},
                                         {33, 66, 72, 1e30F},
                                         {130, 3, 136, 1.0F}}) {
      if (k > 8192 && form != MatrixForm::F16) continue;
      SCOPED_TRACE(testing::Message() << static_cast<int>(form) << ", " << m << " rows of " << k);
      NodeCheck check;
      check.precision = Precision::Fast;
      check.tolerance = form == MatrixForm::BF16 ? 3e-5F : 5e-6F;
      const auto storage = form == MatrixForm::F16 ? Storage::F16 : Storage::BF16;
      engine::Weight weight = DenseWeight{storage};
      if (form == MatrixForm::E4M7) {
        weight = random_narrow(kernels::WeightType::BF16, n, k, ++seed);
      }
      const bool is_dense = std::holds_alternative<DenseWeight>(weight);
      std::vector<TestArray> arrays{make.result({m, n}, 3), make.floats({m, k}, 3, scale)};
      if (is_dense) arrays.push_back(make.halves({n, k}, storage));
      arrays.push_back(make.floats({n}, 0, scale));
      if (m > 1) expect_same_bits_alone(dot_node({{n, weight, true}}), arrays, check);
      arrays.push_back(make.floats({m, n}, 0, scale));
      expect_as_cpu(dot_node({{n, weight, true}}, true), arrays, 1, check);
      if (HasFatalFailure()) return;
    }
  }
}

// Rows that cannot be read in 16 bytes are multiplied in fp32.
TEST(CudaDots, UnalignedHalves) {
  TestArrays make(14);
  NodeCheck check;
  check.precision = Precision::Fast;
  check.tolerance = 1e-6F;
  const DotNode node = dot_node({{9, DenseWeight{Storage::BF16}, false}});
  for (const auto& [k, gap] : {std::pair{72, 4}, {70, 2}}) {
    expect_as_cpu(
        node, {make.result({3, 9}), make.floats({3, k}), make.halves({9, k}, Storage::BF16, gap)},
        1, check);
  }
}

TEST(CudaDots, SeveralDenseProducts) {
  TestArrays make(2);
  std::vector<DotNode::Product> products;
  std::vector<TestArray> results, rest;
  for (const int64_t n : {5, 64, 1, 9, 20, 8}) {
    const bool has_bias = n != 9;
    products.push_back({n, DenseWeight{Storage::F16}, has_bias});
    results.push_back(make.result({2, n}, 1));
    rest.push_back(make.halves({n, 72}));
    if (has_bias) rest.push_back(make.floats({n}));
  }
  std::vector<TestArray> arrays = results;
  arrays.push_back(make.floats({2, 72}));
  arrays.insert(arrays.end(), rest.begin(), rest.end());
  expect_as_cpu(dot_node(products), arrays, results.size());
}

TEST(CudaDots, NothingToCompute) {
  TestArrays make(3);
  const DotNode node = dot_node({{4, DenseWeight{Storage::F32}, false}});
  expect_as_cpu(node, {make.result({0, 4}), make.floats({0, 8}), make.floats({4, 8})});
  expect_as_cpu(node, {make.result({2, 4}), make.floats({2, 0}), make.floats({4, 0})});
}

TEST(CudaDots, Batched) {
  TestArrays make(4);
  for (const Storage storage : {Storage::F32, Storage::F16}) {
    for (const auto& [b, m, n, k] :
         {std::tuple{1, 1, 5, 24}, {3, 2, 9, 33}, {2, 9, 17, 64}, {4, 5, 3, 1}, {2, 18, 3, 20}}) {
      auto w = storage == Storage::F32 ? make.floats({b, n, k}, 5) : make.halves({b, n, k});
      expect_as_cpu(BatchedDotNode{"matmul"},
                    {make.result({b, m, n}, 1), make.floats({b, m, k}, 3), w});
      expect_as_cpu(BatchedDotNode{"matmul"},
                    {make.result({b, m, n}), make.floats({b, m, k}), w, make.floats({n})});
    }
    // Heads as neighbouring columns, one matrix for all.
    auto x = TestArrays::transposed(make.floats({3, 4, 16}), {1, 0, 2});
    auto y = TestArrays::transposed(make.result({3, 4, 6}), {1, 0, 2});
    auto w = storage == Storage::F32 ? make.floats({1, 6, 16}) : make.halves({1, 6, 16});
    expect_as_cpu(BatchedDotNode{"matmul"}, {y, x, TestArrays::broadcast(w, {4, 6, 16})});
  }
}

TEST(CudaDots, RowsHaveTheSameBitsAlone) {
  TestArrays make(7);
  const DotNode dense = dot_node({{9, DenseWeight{Storage::F16}, false}});
  expect_same_bits_alone(dense,
                         {make.result({5, 9}), make.floats({5, 520}), make.halves({9, 520})});
  const DotNode quantized =
      dot_node({{9, random_weight(weight_cases().front(), 9, 544, 1), false}});
  expect_same_bits_alone(quantized, {make.result({5, 9}), make.floats({5, 544})});
  expect_same_bits_alone(dense,
                         {make.result({20, 9}), make.floats({20, 520}), make.halves({9, 520})});
  const DotNode narrow = dot_node({{9, random_narrow(kernels::WeightType::F16, 9, 520, 1), false}});
  expect_same_bits_alone(narrow, {make.result({20, 9}), make.floats({20, 520})});
  expect_same_bits_alone(quantized, {make.result({20, 9}), make.floats({20, 544})});
}

// The CPU rounds x in the same way if it has a kernel for the form and the size.
TEST(CudaDots, QuantizedFast) {
  TestArrays make(8);
  uint32_t seed = 0;
  NodeCheck check;
  check.precision = Precision::Fast;
  for (const WeightCase& one : weight_cases()) {
    for (const auto& [m, n, k] : {std::tuple{1, 33, 96},
                                  {3, 7, 96},
                                  {9, 20, 64},
                                  {8, 33, 48},
                                  {2, 5, 1024},
                                  {1, 19, 2560},
                                  {5, 3, 2080}}) {
      const auto weight = random_weight(one, n, k, ++seed);
      if (weight == nullptr) continue;
      SCOPED_TRACE(one.name + " " + std::to_string(k));
      const bool is_rounded =
          takes_rounded(matrix_facts(MatrixSource(*weight, limit_cpu(cpu_features(), "scalar"))));
      if (!is_rounded) continue;
      check.tolerance = kernels::can_dot(weight->matrix) ? 1e-5F : 2e-2F;
      const DotNode node = dot_node({{n, weight, true}}, true);
      expect_as_cpu(
          node,
          {make.result({m, n}, 1), make.floats({m, k}, 3), make.floats({n}), make.floats({m, n})},
          1, check);
      if (m == 3) {  // a GPU without tensor cores
        NodeCheck old = check;
        old.limits.major = 7;
        expect_as_cpu(
            node,
            {make.result({m, n}, 1), make.floats({m, k}, 3), make.floats({n}), make.floats({m, n})},
            1, old);
      }
      if (m > 1) {
        expect_same_bits_alone(dot_node({{n, weight, true}}),
                               {make.result({m, n}, 1), make.floats({m, k}, 3), make.floats({n})},
                               check);
      }
      if (HasFatalFailure()) return;
    }
  }
}

TEST(CudaDots, QuantizedPrompts) {
  TestArrays make(9);
  NodeCheck check;
  check.precision = Precision::Fast;
  const auto run = [&](std::string_view name, int64_t m, int64_t n, int64_t k) {
    SCOPED_TRACE(name);
    const WeightCase* one = nullptr;
    for (const WeightCase& other : weight_cases()) one = other.name == name ? &other : one;
    ASSERT_NE(one, nullptr);
    const auto weight = random_weight(*one, n, k, 1);
    const DotNode node = dot_node({{n, weight, true}});
    const std::vector<TestArray> arrays{make.result({m, n}, 1), make.floats({m, k}, 3),
                                        make.floats({n})};
    expect_as_cpu(node, arrays, 1, check);
    expect_same_bits_alone(node, arrays, check);
  };
  run("int4, blocks of 32", 33, 70, 96);
  run("int4, blocks of 32", 33, 5, 1056);
  run("int4, fp32 scales", 130, 3, 64);
  run("uint4, offsets", 40, 5, 96);
  run("uint4, fp32 offsets", 40, 5, 32);
  run("int8, a scale for each row", 40, 65, 64);
  run("int8, offsets", 40, 5, 96);
  run("q8_0", 35, 5, 96);
  run("uint8, offsets", 40, 5, 96);
}

TEST(CudaDots, SeveralQuantizedProducts) {
  TestArrays make(6);
  const WeightCase& one = weight_cases().front();
  const DotNode node = dot_node({{8, random_weight(one, 8, 64, 1), false},
                                 {33, random_weight(one, 33, 64, 2), true},
                                 {4, random_weight(one, 4, 64, 3), false}});
  for (const int64_t m : {1, 5}) {
    expect_as_cpu(node,
                  {make.result({m, 8}), make.result({m, 33}), make.result({m, 4}),
                   make.floats({m, 64}), make.floats({33})},
                  3);
  }
}

TEST(CudaDots, QuantizedExact) {
  TestArrays make(5);
  uint32_t seed = 0;
  for (const WeightCase& one : weight_cases()) {
    for (const auto& [m, n, k] :
         {std::tuple{1, 33, 96}, {3, 7, 96}, {9, 8, 48}, {1, 5, 1000}, {2, 3, 512}}) {
      const auto weight = random_weight(one, n, k, ++seed);
      if (weight == nullptr) continue;
      SCOPED_TRACE(one.name + " " + std::to_string(k));
      const DotNode node = dot_node({{n, weight, true}}, true);
      expect_as_cpu(node, {make.result({m, n}, 1), make.floats({m, k}, 3), make.floats({n}),
                           make.floats({m, n})});
      expect_as_cpu(QuantizedGatherNode{weight, "int4"},
                    {make.result({4, k}, 2), make.integers({4}, -n - 1, n + 2)});
      if (HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace pippin::cuda
