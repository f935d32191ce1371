#include "pippin/base/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <numeric>
#include <stdexcept>
#include <thread>

#if defined(__linux__)
#include <sched.h>
#endif

#include <gtest/gtest.h>

#include "pippin/base/pinning.h"

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

#if defined(__linux__)
// How many of the workers may run on one core only, after each had time to begin.
int pinned_workers(ThreadPool& pool) {
  const auto caller = std::this_thread::get_id();
  std::atomic<int> pinned{0}, free{0};
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (pinned + free < pool.num_threads() - 1 && std::chrono::steady_clock::now() < deadline) {
    pinned = 0;
    free = 0;
    pool.run([&](int, int) {
      if (std::this_thread::get_id() == caller) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        return;
      }
      cpu_set_t set;
      if (::sched_getaffinity(0, sizeof(set), &set) != 0) return;
      ++(CPU_COUNT(&set) == 1 ? pinned : free);
    });
  }
  return pinned;
}

TEST(Pinning, OnlyWhereAskedOrEveryCoreHasAThread) {
  const int cores = default_num_threads();
  cpu_set_t set;
  ASSERT_EQ(::sched_getaffinity(0, sizeof(set), &set), 0);
  if (cores < 2 || cores != CPU_COUNT(&set)) GTEST_SKIP() << "needs two cores without a quota";
  const auto pinned = [](Pinning pinning, int threads) {
    set_pinning(pinning);
    ThreadPool pool(threads);
    set_pinning(Pinning::Auto);
    return pinned_workers(pool);
  };
  EXPECT_EQ(pinned(Pinning::Never, cores), 0);
  EXPECT_EQ(pinned(Pinning::Always, 2), 1);
  EXPECT_EQ(pinned(Pinning::Auto, cores), cores - 1);
  EXPECT_EQ(pinned(Pinning::Always, cores + 1), 0);
  if (cores > 2) {
    EXPECT_EQ(pinned(Pinning::Auto, 2), 0);
  }
}
#endif

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
