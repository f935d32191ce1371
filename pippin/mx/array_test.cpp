#include "pippin/mx/array.h"

#include <gtest/gtest.h>

#include "pippin/base/testing.h"
#include "pippin/mx/mx.h"

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
}

TEST(Array, IsLazy) {
  const array x = add(array({1, 2}), array(3));
  EXPECT_FALSE(x.is_available());
  eval(x);
  EXPECT_TRUE(x.is_available());
  EXPECT_EQ(x.to_vector<int>(), std::vector<int>({4, 5}));
}

TEST(Array, EndsLongGraphsWithoutRecursion) {
  array x(0);
  for (int i = 0; i < 1'000'000; ++i) x = x + 1;
  { const array unused = x + 1; }
  EXPECT_EQ(x.item<int>(), 1'000'000);
  for (int i = 0; i < 1'000'000; ++i) x = x + 1;
}

TEST(Array, ReducesInAnyLayout) {
  const array x = reshape(arange(24), {2, 3, 4});
  EXPECT_EQ(sum(x).item<int>(), 276);
  EXPECT_EQ(sum(x, 0).to_vector<int>(),
            std::vector<int>({12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32, 34}));
  EXPECT_EQ(max(transpose(x), 1).to_vector<int>(),
            std::vector<int>({8, 20, 9, 21, 10, 22, 11, 23}));
}

}  // namespace
}  // namespace pippin::mx
