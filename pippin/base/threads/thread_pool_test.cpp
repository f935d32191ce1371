#include "pippin/base/threads/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#if defined(__linux__)
#include <sched.h>
#endif

#include <gtest/gtest.h>

#include "pippin/base/threads/counted_parts_testing.h"
#include "pippin/base/threads/dealt_range.h"

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

TEST_P(Pools, DealEveryItemOnce) {
  ThreadPool pool(GetParam());
  for (const int64_t count : {1, 7, 8, 63, 64, 1000, 4096}) {
    for (const int64_t grain : {1, 4, 64}) {
      for (const int64_t pieces : {0, 1, 3, 32, 5000}) {
        SCOPED_TRACE(std::to_string(count) + " " + std::to_string(grain) + " " +
                     std::to_string(pieces));
        std::vector<std::atomic<int>> times(static_cast<size_t>(count));
        std::atomic<int> workers{0}, astray{0};
        deal_range(pool, count, grain, pieces, [&](int part) {
          ++workers;
          if (part < 0 || part >= GetParam()) ++astray;
          return [&](Range range) {
            if (range.begin % grain != 0 || range.begin >= range.end) ++astray;
            for (int64_t i = range.begin; i < range.end; ++i) ++times[static_cast<size_t>(i)];
          };
        });
        EXPECT_EQ(workers, GetParam());
        EXPECT_EQ(astray, 0);
        EXPECT_TRUE(std::all_of(times.begin(), times.end(), [](const auto& n) { return n == 1; }));
      }
    }
  }
}

// Every item once, and no thread's share of rows of a matrix is more than a grain above the mean.
TEST(DealtRange, IsEvenForAnyNumberOfThreads) {
  for (int threads = 1; threads <= 64; ++threads) {
    for (const int64_t count : {1024, 2048, 3072, 11008, 151936}) {
      for (const int64_t pieces : {0, 20, 256}) {
        SCOPED_TRACE(testing::Message() << threads << ": " << count << " in " << pieces);
        constexpr int64_t kGrain = 8;
        CountedParts parts;
        ThreadPool pool(threads, parts);
        std::vector<int> times(static_cast<size_t>(count));
        std::vector<int64_t> shares(static_cast<size_t>(threads));
        int64_t dealt = 0;
        deal_range(pool, count, kGrain, pieces, [&](int) {
          return [&](Range range) {
            const int64_t size = range.end - range.begin;
            (parts.piece ? dealt : shares[static_cast<size_t>(parts.part)]) += size;
            for (int64_t i = range.begin; i < range.end; ++i) ++times[static_cast<size_t>(i)];
          };
        });
        EXPECT_EQ(parts.runs, 1);
        EXPECT_TRUE(std::all_of(times.begin(), times.end(), [](int n) { return n == 1; }));
        EXPECT_LE(*std::max_element(shares.begin(), shares.end()),
                  (count - dealt) / threads + kGrain);
        EXPECT_LE(dealt, pieces < threads ? 0 : count / 8);
      }
    }
  }
}

TEST(ObservedPool, AnExceptionReachesTheCaller) {
  CountedParts parts;
  ThreadPool pool(4, parts);
  EXPECT_THROW(pool.run([&](int part, int) {
    if (part == 2) throw std::runtime_error("part");
  }),
               std::runtime_error);
  int ran = 0;
  pool.run([&](int part, int) { ran += part; });
  EXPECT_EQ(ran, 6);
}

// One thread is blocked in its share: the others do all pieces.
TEST(DealtRange, PiecesGoToWhoeverIsFree) {
  ThreadPool pool(2);
  std::atomic<int64_t> done{0};
  std::atomic<int> held{-1};
  deal_range(pool, 800, 1, 10, [&](int part) {
    return [&, part](Range range) {
      done += range.end - range.begin;
      int nobody = -1;
      if (!held.compare_exchange_strong(nobody, part)) return;
      while (done < 800) std::this_thread::yield();
    };
  });
  EXPECT_EQ(done, 800);
}

TEST_P(Pools, DealEveryHandful) {
  ThreadPool pool(GetParam());
  for (const int64_t count : {0, 1, 2, 7, 1000}) {
    for (const int64_t handful : {1, 3, 2000}) {
      SCOPED_TRACE(std::to_string(count) + " " + std::to_string(handful));
      std::vector<std::atomic<int>> times(static_cast<size_t>(count));
      std::atomic<int> workers{0}, astray{0};
      deal_items(pool, count, handful, [&](int part) {
        ++workers;
        if (part < 0 || part >= GetParam()) ++astray;
        return [&](Range range) {
          const int64_t size = range.end - range.begin;
          const int64_t most = std::max(handful, (count - range.begin) / (2 * GetParam()));
          if (range.begin % handful != 0 || size < 1 || size > most) ++astray;
          if (range.end < count && size % handful != 0) ++astray;
          for (int64_t i = range.begin; i < range.end; ++i) ++times[static_cast<size_t>(i)];
        };
      });
      EXPECT_EQ(workers, GetParam());
      EXPECT_EQ(astray, 0);
      EXPECT_TRUE(std::all_of(times.begin(), times.end(), [](const auto& n) { return n == 1; }));
    }
  }
}

// One thread is blocked in its first items: the others do the rest.
TEST(DealtItems, GoToWhoeverIsFree) {
  ThreadPool pool(2);
  std::atomic<int64_t> done{0};
  deal_items(pool, 100, 1, [&](int /*part*/) {
    return [&](Range range) {
      const int64_t size = range.end - range.begin;
      if (range.begin == 0) {
        while (done < 100 - size) std::this_thread::yield();
      }
      done += size;
    };
  });
  EXPECT_EQ(done, 100);
}

INSTANTIATE_TEST_SUITE_P(Counts, Pools, testing::Values(1, 2, 3, 8));

#if defined(__linux__)
// Returns the number of workers that are pinned to one core, after each had time to start.
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
    ThreadPool pool(threads, pinning);
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
