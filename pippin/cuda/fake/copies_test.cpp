// Copies, emulated, against the CPU's.
#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include "pippin/cuda/fake/node_testing.h"

namespace pippin::cuda {
namespace {

using engine::CopyNode;
using engine::Storage;

constexpr Storage kStorages[] = {Storage::F32, Storage::F16, Storage::BF16, Storage::I32,
                                 Storage::Bool};

TestArray random_of(TestArrays& make, Storage storage, std::vector<int64_t> shape) {
  switch (storage) {
    case Storage::F32:
      return make.floats(std::move(shape), 0, 3);
    case Storage::I32:
      return make.integers(std::move(shape), -100000, 100000);
    case Storage::Bool:
      return make.bools(std::move(shape));
    default:
      return make.halves(std::move(shape), storage);
  }
}

TEST(CudaCopies, ConvertsBetweenAllStorages) {
  TestArrays make(1);
  for (const Storage to : kStorages) {
    for (const Storage from : kStorages) {
      for (const int64_t n : {1, 8, 37, 200}) {
        SCOPED_TRACE(to_string(from) + " to " + to_string(to));
        expect_as_cpu(CopyNode{}, {make.result({2, n}, 0, to), random_of(make, from, {2, n})});
        expect_as_cpu(CopyNode{}, {make.result({n, 3}, 2, to),
                                   TestArrays::transposed(random_of(make, from, {3, n}), {1, 0})});
        expect_as_cpu(CopyNode{},
                      {make.result({2, n, 4}, 4, to),
                       TestArrays::broadcast(random_of(make, from, {2, 1, 1}), {2, n, 4})});
      }
    }
  }
}

TEST(CudaCopies, ConvertsSpecialNumbers) {
  TestArrays make(2);
  const std::vector<float> special = {NAN,  INFINITY, -INFINITY, 0.0F,  -0.0F,  65504, 65520, 1e-8F,
                                      3e9F, -3e9F,    2.5F,      -2.9F, 1e-40F, 0.1F,  70000, -1};
  TestArray x = make.floats({16});
  std::memcpy(x.memory.data(), special.data(), 64);
  for (const Storage to : kStorages) {
    expect_as_cpu(CopyNode{}, {make.result({16}, 0, to), x});
  }
}

TEST(CudaCopies, Transposes) {
  TestArrays make(3);
  for (const Storage storage : kStorages) {
    expect_as_cpu(CopyNode{}, {make.result({40, 33}, 3, storage),
                               TestArrays::transposed(random_of(make, storage, {33, 40}), {1, 0})});
    expect_as_cpu(CopyNode{},
                  {make.result({2, 9, 3, 35}, 0, storage),
                   TestArrays::transposed(random_of(make, storage, {2, 35, 3, 9}), {0, 3, 2, 1})});
    expect_as_cpu(CopyNode{},
                  {TestArrays::transposed(make.result({5, 4, 8}, 4, storage), {1, 0, 2}),
                   random_of(make, storage, {4, 5, 8})});
    expect_as_cpu(CopyNode{}, {make.result({2, 3, 2, 4, 3, 2}, 1, storage),
                               TestArrays::transposed(random_of(make, storage, {2, 3, 4, 2, 3, 2}),
                                                      {5, 4, 3, 2, 1, 0})});
  }
}

TEST(CudaCopies, NothingAndScalars) {
  TestArrays make(4);
  expect_as_cpu(CopyNode{}, {make.result({0, 3}), make.floats({0, 3})});
  expect_as_cpu(CopyNode{}, {make.result({}), make.floats({})});
}

TEST(CudaCopies, Fill) {
  TestArrays make(5);
  for (const int64_t n : {0, 1, 7, 64, 300}) {
    for (const Storage storage : {Storage::F32, Storage::I32, Storage::Bool}) {
      expect_as_cpu(engine::FillNode{},
                    {make.result({n, 2}, 0, storage), random_of(make, storage, {})});
    }
  }
}

TEST(CudaCopies, Dims) {
  TestArrays make(6);
  NodeCheck check;
  for (int64_t i = 0; i < 20; ++i) check.scalars.push_back(i * 37 - 5 * (i % 3));
  for (const Storage storage : {Storage::F32, Storage::I32, Storage::Bool}) {
    expect_as_cpu(engine::DimsNode{}, {make.result({20}, 0, storage)}, 1, check);
  }
}

}  // namespace
}  // namespace pippin::cuda
