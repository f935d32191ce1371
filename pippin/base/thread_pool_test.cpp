#include "pippin/base/thread_pool.h"

#include <numeric>
#include <stdexcept>

#include <gtest/gtest.h>

namespace pippin {
namespace {

class Pools : public testing::TestWithParam<int> {};

TEST_P(Pools, EveryPartRunsOncePerCall) {
  ThreadPool pool(GetParam());
  ASSERT_EQ(pool.num_threads(), GetParam());
  std::vector<int> counts(static_cast<size_t>(GetParam()), 0);
  for (int round = 0; round < 2000; ++round) {
    pool.run([&](int part, int parts) {
      EXPECT_EQ(parts, GetParam());
      ++counts[static_cast<size_t>(part)];
    });
  }
  for (const int count : counts) EXPECT_EQ(count, 2000);
}

TEST_P(Pools, AnExceptionReachesTheCaller) {
  ThreadPool pool(GetParam());
  const int last = GetParam() - 1;
  EXPECT_THROW(pool.run([&](int part, int) {
    if (part == last) throw std::runtime_error("part");
  }),
               std::runtime_error);
  int sum = 0;
  pool.run([&](int part, int) {
    if (part == 0) sum = 1;
  });
  EXPECT_EQ(sum, 1);
}

INSTANTIATE_TEST_SUITE_P(Counts, Pools, testing::Values(1, 2, 3, 8));

TEST(SplitRange, CoversEverythingInGrains) {
  for (const int64_t count : {0, 1, 7, 64, 1000}) {
    for (const int parts : {1, 2, 3, 7}) {
      int64_t next = 0;
      for (int part = 0; part < parts; ++part) {
        const Range range = split_range(count, part, parts, 16);
        EXPECT_EQ(range.begin, next);
        EXPECT_TRUE(range.end == count || range.end % 16 == 0);
        next = range.end;
      }
      EXPECT_EQ(next, count);
    }
  }
}

}  // namespace
}  // namespace pippin
