// Elementwise work, emulated, against the CPU's scalar kernels.
#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include "pippin/cuda/fake/node_testing.h"

namespace pippin::cuda {
namespace {

using engine::NodeKind;
using engine::Storage;
using Shape = std::vector<int64_t>;

constexpr float kSpecial[] = {NAN,   INFINITY, -INFINITY, 0.0F,  -0.0F,  1e-30F, -1e-30F, 0.5F,
                              -0.5F, 1.5F,     -2.5F,     40.0F, -40.0F, 200.0F, -200.0F, 3e38F};

TestArray special_floats(TestArrays& make) {
  TestArray x = make.floats({std::size(kSpecial)});
  std::memcpy(x.memory.data(), kSpecial, sizeof(kSpecial));
  return x;
}
TestArray special_integers(TestArrays& make, int64_t n) {
  constexpr int32_t kNumbers[] = {INT32_MIN, INT32_MAX, 0, 1, -1, -7, 3, 200};
  TestArray x = make.integers({n}, -9, 9);
  for (size_t i = 0; i < static_cast<size_t>(n); i += 2) {
    std::memcpy(x.memory.data() + 4 * i, &kNumbers[i / 2 % 8], 4);
  }
  return x;
}

// Shapes and strides of all kinds; to(shape), from(shape).
template <typename To, typename From>
void unary_layouts(const NodeKind& node, const To& to, const From& from) {
  expect_as_cpu(node, {to({1}), from({1})});
  expect_as_cpu(node, {to({3, 7}), from({3, 7})});
  expect_as_cpu(node, {to({2, 64}), from({2, 64})});
  expect_as_cpu(node, {to({2, 3, 8}), TestArrays::transposed(from({3, 2, 8}), {1, 0, 2})});
  expect_as_cpu(node, {to({5, 6}), TestArrays::transposed(from({6, 5}), {1, 0})});
  expect_as_cpu(node, {to({2, 8}), TestArrays::broadcast(from({2, 1}), {2, 8})});
  expect_as_cpu(node, {to({0, 8}), from({0, 8})});
}
template <typename To, typename From>
void pair_layouts(const NodeKind& node, const To& to, const From& from) {
  expect_as_cpu(node, {to({1}), from({1}), from({1})});
  expect_as_cpu(node, {to({3, 7}), from({3, 7}), from({3, 7})});
  expect_as_cpu(node, {to({2, 64}), from({2, 64}), from({2, 64})});
  expect_as_cpu(node, {to({2, 8}), from({2, 8}), TestArrays::broadcast(from({1, 8}), {2, 8})});
  expect_as_cpu(node, {to({2, 8}), TestArrays::broadcast(from({2, 1}), {2, 8}), from({2, 8})});
  expect_as_cpu(node, {to({4, 6}), from({4, 6}), TestArrays::transposed(from({6, 4}), {1, 0})});
}

TEST(CudaElementwise, Unary) {
  TestArrays make(1);
  for (int op = 0; op < kernels::kNumUnaryOps; ++op) {
    for (const auto& [alpha, beta] : {std::pair{0.5F, 1.25F}, {0.0F, 6.0F}}) {
      const engine::UnaryNode node{"unary", static_cast<kernels::UnaryOp>(op), alpha, beta};
      SCOPED_TRACE(op);
      NodeCheck check;
      check.tolerance = 3e-6F;
      // Each alone, so that the largest hides no other.
      for (int i = 0; i < 6; ++i) {
        expect_as_cpu(node, {make.result({1}), make.floats({1}, 0, 1.5F)}, 1, check);
      }
      for (const float special : kSpecial) {
        SCOPED_TRACE(special);
        TestArray one = make.floats({1});
        std::memcpy(one.memory.data(), &special, 4);
        if ((op == static_cast<int>(kernels::UnaryOp::Cos) ||
             op == static_cast<int>(kernels::UnaryOp::Sin)) &&
            special > 1e30F) {
          continue;
        }
        NodeCheck wide;
        wide.tolerance = 2e-5F;
        expect_as_cpu(node, {make.result({1}), one}, 1, wide);
      }
    }
  }
  unary_layouts(
      engine::UnaryNode{"exp", kernels::UnaryOp::Exp},
      [&](const Shape& s) { return make.result(s); },
      [&](const Shape& s) { return make.floats(s); });
}

TEST(CudaElementwise, Map) {
  TestArrays make(2);
  for (const char* name : {"acos", "asin", "atan", "atanh", "cosh", "sinh", "tan", "clamped_relu",
                           "thresholded_relu"}) {
    SCOPED_TRACE(name);
    const engine::MapNode node{name, 0.25, 0.75};
    expect_as_cpu(node, {make.result({16}), special_floats(make)});
    unary_layouts(
        node, [&](const Shape& s) { return make.result(s); },
        [&](const Shape& s) { return make.floats(s); });
  }
  for (const char* name :
       {"abs", "ceil", "clip", "floor", "round", "sign", "square", "threshold"}) {
    SCOPED_TRACE(name);
    const engine::MapNode node{name, -2.5, 3.5};
    expect_as_cpu(node, {make.result({21}, 0, Storage::I32), special_integers(make, 21)});
  }
}

TEST(CudaElementwise, Binary) {
  TestArrays make(3);
  for (int op = 0; op < kernels::kNumBinaryOps; ++op) {
    SCOPED_TRACE(op);
    const engine::BinaryNode node{"binary", static_cast<kernels::BinaryOp>(op)};
    pair_layouts(
        node, [&](const Shape& s) { return make.result(s); },
        [&](const Shape& s) { return make.floats(s); });
    for (const float special : kSpecial) {
      TestArray one = make.floats({1});
      std::memcpy(one.memory.data(), &special, 4);
      expect_as_cpu(node,
                    {make.result({16}), special_floats(make), TestArrays::broadcast(one, {16})});
    }
    pair_layouts(
        node, [&](const Shape& s) { return make.result(s, 0, Storage::I32); },
        [&](const Shape& s) { return make.integers(s, -6, 6); });
    expect_as_cpu(node, {make.result({32}, 0, Storage::I32), special_integers(make, 32),
                         make.integers({32}, -3, 4)});
  }
}

TEST(CudaElementwise, Compare) {
  TestArrays make(4);
  for (int op = 0; op < kernels::kNumCompareOps; ++op) {
    SCOPED_TRACE(op);
    const engine::CompareNode node{"compare", static_cast<kernels::CompareOp>(op)};
    pair_layouts(
        node, [&](const Shape& s) { return make.result(s, 0, Storage::Bool); },
        [&](const Shape& s) { return make.integers(s, 0, 3); });
    pair_layouts(
        node, [&](const Shape& s) { return make.result(s, 0, Storage::Bool); },
        [&](const Shape& s) { return make.floats(s); });
    TestArray row = special_floats(make);
    row.shape = {1, 16};
    row.strides = {0, 1};
    row = TestArrays::broadcast(row, {16, 16});
    expect_as_cpu(
        node, {make.result({16, 16}, 0, Storage::Bool), row, TestArrays::transposed(row, {1, 0})});
  }
}

TEST(CudaElementwise, LogicAndSelect) {
  TestArrays make(5);
  const auto bools = [&](const Shape& s) { return make.bools(s); };
  for (int op = 0; op < 4; ++op) {
    SCOPED_TRACE(op);
    pair_layouts(
        engine::LogicNode{"logic", static_cast<engine::LogicOp>(op)},
        [&](const Shape& s) { return make.result(s, 0, Storage::Bool); }, bools);
  }
  const engine::SelectNode node;
  for (const int64_t n : {1, 6, 64}) {
    expect_as_cpu(node, {make.result({3, n}), bools({3, n}), make.floats({3, n}),
                         TestArrays::broadcast(make.floats({1, 1}), {3, n})});
    expect_as_cpu(
        node,
        {make.result({3, n}, 0, Storage::I32), TestArrays::broadcast(bools({1, n}), {3, n}),
         TestArrays::transposed(make.integers({n, 3}, 0, 9), {1, 0}), make.integers({3, n}, 0, 9)});
  }
  for (const int64_t n : {1, 6, 64}) {
    expect_as_cpu(engine::AllowedNode{}, {make.result({3, n}), bools({3, n})});
  }
}

TEST(CudaElementwise, Narrow) {
  TestArrays make(6);
  for (const int bits : {8, 16}) {
    for (const bool is_signed : {false, true}) {
      for (const bool saturates : {false, true}) {
        const engine::NarrowNode node{bits, is_signed, saturates};
        expect_as_cpu(node, {make.result({24}, 0, Storage::I32), special_integers(make, 24)});
        expect_as_cpu(node,
                      {make.result({50}, 0, Storage::I32), make.integers({50}, -70000, 70000)});
      }
    }
  }
}

TEST(CudaElementwise, Gate) {
  TestArrays make(7);
  for (int op = 0; op < kernels::kNumGateOps; ++op) {
    SCOPED_TRACE(op);
    const engine::GateNode node{"gate", static_cast<kernels::GateOp>(op)};
    expect_as_cpu(node, {make.result({2, 64}), make.floats({2, 64}, 8, 4), make.floats({2, 64})});
    expect_as_cpu(node, {make.result({2, 7}), make.floats({2, 7}, 1, 4), make.floats({2, 7})});
    expect_as_cpu(node, {make.result({16}), special_floats(make), make.floats({16})});
  }
}

TEST(CudaElementwise, Codes) {
  TestArrays make(8);
  for (const auto op :
       {engine::CodeOp::Quantize, engine::CodeOp::Dequantize, engine::CodeOp::Round}) {
    const engine::CodeNode node{op, {{0.05F, 0, -128}, {0.013F, 128, 0}, {1.5F, -3, -128}}};
    const auto y = op == engine::CodeOp::Quantize ? Storage::I32 : Storage::F32;
    for (const int64_t inner : {1, 13}) {
      expect_as_cpu(node,
                    {make.result({2, 3, inner}, 0, y), op == engine::CodeOp::Dequantize
                                                           ? make.integers({2, 3, inner}, -128, 128)
                                                           : make.floats({2, 3, inner}, 0, 4)});
    }
  }
  const engine::PairNode pair{{0.05F, 3, -128}};
  for (const int64_t channels : {1, 4, 5}) {
    expect_as_cpu(pair, {make.result({2, (channels + 1) / 2, 7}, 0, Storage::I32),
                         make.floats({2, channels, 7})});
  }
}

}  // namespace
}  // namespace pippin::cuda
