#include "pippin/mx/core/array.h"

#include <thread>

#include "pippin/base/testing.h"
#include "pippin/base/threads/fork_testing.h"
#include "pippin/mx/mx_testing.h"

namespace pippin::mx {
namespace {

TEST(Array, HoldsNumbers) {
  const array x({1.5f, 2.0f, 3.0f});
  EXPECT_EQ(x.dtype(), float32);
  EXPECT_EQ(x.shape(), Shape({3}));
  EXPECT_EQ(x.to_vector<float>(), std::vector<float>({1.5f, 2, 3}));
  EXPECT_EQ(array(7).item<int>(), 7);
  EXPECT_EQ(array(2.5).dtype(), float32);
  EXPECT_EQ(array(std::vector<int>{1, 2, 3, 4}, {2, 2}).shape(), Shape({2, 2}));
  EXPECT_ERROR(array(std::vector<int>{1, 2, 3}, {2, 2}), ErrorCode::InvalidArgument,
               "[array] 3 values do not make an array of shape (2,2).");
  EXPECT_ERROR(x.item<float>(), ErrorCode::InvalidArgument, "(3,)");
}

TEST(Array, IsLazy) {
  const array x = add(array({1, 2}), array(3));
  EXPECT_FALSE(x.is_available());
  eval(x);
  EXPECT_TRUE(x.is_available());
  EXPECT_EQ(x.to_vector<int>(), std::vector<int>({4, 5}));
}

TEST(Array, EndsLongGraphsWithoutRecursion) {
  const array one(1);
  array x(0);
  for (int i = 0; i < 1'000'000; ++i) x = add(x, one);
  EXPECT_EQ(x.item<int>(), 1'000'000);
  for (int i = 0; i < 1'000'000; ++i) x = add(x, one);  // never computed
}

TEST(Array, IsOverwrittenInPlaceByItsOnlyUser) {
  array x = add(ones({1000}), ones({1000}));
  eval(x);
  const std::byte* before = x.bytes();
  x = add(x, array(1.0f));
  eval(x);
  EXPECT_EQ(x.bytes(), before);
  const array y = add(x, array(1.0f));  // x stays alive
  eval(y);
  EXPECT_NE(y.bytes(), before);
  EXPECT_EQ(x.to_vector<float>(), std::vector<float>(1000, 3));
  EXPECT_EQ(y.to_vector<float>(), std::vector<float>(1000, 4));
}

TEST(Array, BorrowsMemoryAndTellsWhenItEnds) {
  std::vector<float> memory = {1, 2, 3, 4, 5, 6};
  int released = 0;
  {
    array x = array::borrow(
        memory.data(), float32, {2, 3}, {3, 1}, [&] { ++released; }, false);
    const array y = transpose(x);
    x = add(x, array(1.0f));
    EXPECT_EQ(y.to_vector<float>(), std::vector<float>({1, 4, 2, 5, 3, 6}));
    EXPECT_EQ(x.to_vector<float>(), std::vector<float>({2, 3, 4, 5, 6, 7}));
    EXPECT_EQ(released, 0);
  }
  EXPECT_EQ(released, 1);
  EXPECT_EQ(memory[0], 1);
}

TEST(Array, PromotesAsMlx) {
  EXPECT_EQ(promote_types(int64, float16), float16);
  EXPECT_EQ(promote_types(float16, bfloat16), float32);
  EXPECT_EQ(promote_types(uint64, int8), float32);
  EXPECT_EQ(promote_types(uint32, int8), int64);
  EXPECT_EQ(promote_types(uint8, int8), int16);
  EXPECT_EQ(promote_types(uint16, int64), int64);
  EXPECT_EQ(promote_types(bool_, uint8), uint8);
  EXPECT_EQ(promote_types(float32, complex64), complex64);
  for (const Dtype a : kComputed) {
    for (const Dtype b : kComputed) EXPECT_EQ(promote_types(a, b), promote_types(b, a));
  }
  EXPECT_TRUE(issubdtype(float16, DtypeCategory::Inexact));
  EXPECT_FALSE(issubdtype(bool_, DtypeCategory::Number));
  EXPECT_EQ((array({1, 2}, float16) * 2.5).dtype(), float16);
  EXPECT_EQ((array({1, 2}) * 2.5).dtype(), float32);
  EXPECT_EQ((array({1, 2}, uint8) + 1).dtype(), uint8);
}

TEST(Array, ConvertsBetweenAllTypes) {
  for (const Dtype from : kComputed) {
    for (const Dtype to : kComputed) {
      const array x = ugly({3, 5}, from, 5);
      if (is_floating(from) && !is_floating(to) && to != bool_) continue;  // tested below
      for (const array& layout : layouts(x)) {
        std::vector<double> expected;
        for (const double value : numbers(x)) expected.push_back(rounded(value, to));
        if (to == bool_) {
          expected.clear();
          for (const double value : numbers(x)) expected.push_back(value != 0);
        }
        if (is_integer(from) && is_integer(to)) continue;  // wraps: tested below
        expect_numbers(astype(layout, to), expected, 0,
                       std::string(to_string(from)) + " to " + std::string(to_string(to)));
      }
    }
  }
  EXPECT_EQ(astype(array({-1, 257}), uint8).to_vector<int>(), std::vector<int>({255, 1}));
  EXPECT_EQ(astype(array({-1.7f, 2.9f}), int32).to_vector<int>(), std::vector<int>({-1, 2}));
  EXPECT_EQ(astype(array({3e9f}), uint32).item<uint32_t>(), 3'000'000'000u);
  EXPECT_EQ(astype(array({std::nanf("")}), int32).item<int>(), 0);
}

TEST(Array, SeesItsBytesAsOtherTypes) {
  const array x({1.0f, -2.0f});
  EXPECT_EQ(view(x, uint32).to_vector<uint32_t>(), std::vector<uint32_t>({0x3f800000, 0xc0000000}));
  EXPECT_EQ(view(x, uint16).shape(), Shape({4}));
  EXPECT_ERROR(view(array({1, 2, 3}, int16), int32), ErrorCode::InvalidArgument, "[view]");
}

TEST(ArrayThreads, AnyThreadMayUseAnyArray) {
  const array x = ones({64, 64});
  std::vector<std::thread> threads;
  std::vector<float> sums(4);
  for (size_t t = 0; t < sums.size(); ++t) {
    threads.emplace_back([&, t] {
      array y = x;
      for (int i = 0; i < 50; ++i) {
        y = add(y, x);
        if (i % 7 == 0) eval(y);
        if (i % 11 == 0) async_eval({&y, 1});
      }
      sums[t] = sum(y).item<float>();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const float total : sums) EXPECT_EQ(total, 51 * 64 * 64);
  synchronize();
}

TEST(ArrayThreads, AWorkingParentForksAWorkingChild) {
  PIPPIN_SKIP_FORKS;
  const array x = ones({300, 300});
  const array before = sum(matmul(x, x));
  eval(before);
  EXPECT_TRUE(is_true_in_child([&] {
    const array after = sum(matmul(x, x));
    return after.item<float>() == before.item<float>();
  }));
}

}  // namespace
}  // namespace pippin::mx
