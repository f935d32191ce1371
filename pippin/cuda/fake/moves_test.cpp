// Elements moved by position, emulated, against the CPU's.
#include <gtest/gtest.h>

#include "pippin/cuda/fake/node_testing.h"

namespace pippin::cuda {
namespace {

using engine::Storage;
using Shape = std::vector<int64_t>;

TEST(CudaMoves, Range) {
  TestArrays make(1);
  for (const int64_t count : {0, 1, 300}) {
    expect_as_cpu(engine::RangeNode{}, {make.result({count}), make.floats({}), make.floats({})});
    expect_as_cpu(engine::RangeNode{}, {make.result({count}, 0, Storage::I32),
                                        make.integers({}, -9, 9), make.integers({}, -9, 9)});
  }
}

TEST(CudaMoves, Band) {
  TestArrays make(2);
  for (const int64_t lower : {-1, 0, 2, 20}) {
    for (const int64_t upper : {-1, 0, 1, 20}) {
      const engine::BandNode node{lower, upper};
      expect_as_cpu(node, {make.result({2, 5, 7}), make.floats({2, 5, 7})});
      expect_as_cpu(node, {make.result({1, 7, 4}, 0, Storage::Bool), make.bools({1, 7, 4})});
      expect_as_cpu(node,
                    {make.result({1, 9, 3}, 0, Storage::I32), make.integers({1, 9, 3}, -9, 9)});
    }
  }
}

TEST(CudaMoves, ReverseSequence) {
  TestArrays make(3);
  const engine::ReverseSequenceNode node{"reverse"};
  for (const int64_t slice : {1, 6}) {
    expect_as_cpu(
        node, {make.result({4, 5, slice}), make.floats({4, 5, slice}), make.integers({4}, 0, 6)});
    expect_as_cpu(node, {make.result({4, 5, slice}, 0, Storage::Bool), make.bools({4, 5, slice}),
                         make.integers({4}, 0, 6)});
  }
}

TEST(CudaMoves, Pick) {
  TestArrays make(4);
  const std::vector<int64_t> first = {3, 0, 4, 4, 1}, second = {4, 1, 0, 4, 2};
  const std::vector<float> part = {0.25F, 0, 1, 0.5F, 0};
  for (const int64_t inner : {1, 6}) {
    expect_as_cpu(engine::PickNode{"pick", first, {}, {}},
                  {make.result({3, 5, inner}), make.floats({3, 5, inner})});
    expect_as_cpu(engine::PickNode{"pick", first, second, part},
                  {make.result({3, 5, inner}), make.floats({3, 5, inner})});
  }
}

TEST(CudaMoves, OneHot) {
  TestArrays make(5);
  const engine::OneHotNode node{3, -1};
  for (const Storage storage : {Storage::F32, Storage::I32}) {
    expect_as_cpu(node, {make.result({7, 5}, 0, storage), make.integers({7}, -2, 7)});
    expect_as_cpu(node, {make.result({7, 1}, 3, storage), make.integers({7}, -2, 7)});
  }
  expect_as_cpu(engine::OneHotNode{1, 0},
                {make.result({7, 5}, 0, Storage::Bool), make.integers({7}, -2, 7)});
}

TEST(CudaMoves, CumulativeSum) {
  TestArrays make(6);
  for (const bool exclusive : {false, true}) {
    for (const bool reverse : {false, true}) {
      const engine::CumulativeSumNode node{exclusive, reverse};
      for (const auto& shape :
           {Shape{1, 1, 1}, {3, 70, 1}, {2, 33, 3}, {2, 9, 20}, {2, 0, 3}, {1, 5, 8}}) {
        expect_as_cpu(node, {make.result(shape), make.floats(shape, 3)});
        expect_as_cpu(node, {make.result(shape, 0, Storage::I32),
                             make.integers(shape, INT32_MIN, INT32_MAX)});
      }
      expect_as_cpu(node, {make.result({4, 6, 5}),
                           TestArrays::transposed(make.floats({5, 4, 6}), {1, 2, 0})});
    }
  }
}

}  // namespace
}  // namespace pippin::cuda
