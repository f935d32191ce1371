#include "pippin/scheduling/block_pool.h"

#include <gtest/gtest.h>

namespace pippin::scheduling {
namespace {

TEST(BlockPool, CountsBlocksOfAllHolders) {
  BlockPool pool(4 * kBlockTokens);
  int64_t first = 0, second = 0;
  EXPECT_TRUE(pool.grow(first, 1));
  EXPECT_EQ(first, 1);
  EXPECT_TRUE(pool.grow(first, kBlockTokens));  // it has that block
  EXPECT_TRUE(pool.grow(second, 2 * kBlockTokens + 1));
  EXPECT_EQ(second, 3);
  EXPECT_EQ(pool.used(), 4);
  EXPECT_FALSE(pool.grow(first, kBlockTokens + 1));
  EXPECT_EQ(first, 1);
  pool.give_back(second);
  EXPECT_EQ(second, 0);
  EXPECT_TRUE(pool.grow(first, 4 * kBlockTokens));
  EXPECT_FALSE(pool.could_hold(4 * kBlockTokens + 1));
}

TEST(BlockPool, NegativeIsNoLimit) {
  BlockPool pool(-1);
  int64_t held = 0;
  EXPECT_TRUE(pool.could_hold(int64_t{1} << 40));
  EXPECT_TRUE(pool.grow(held, int64_t{1} << 40));
}

TEST(BlockPool, HasOneBlockAtLeast) {
  BlockPool pool(0);
  int64_t held = 0;
  EXPECT_TRUE(pool.grow(held, 1));
  EXPECT_FALSE(pool.grow(held, kBlockTokens + 1));
}

}  // namespace
}  // namespace pippin::scheduling
