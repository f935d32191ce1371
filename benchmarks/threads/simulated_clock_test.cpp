#include "benchmarks/threads/simulated_clock.h"

#include <cmath>
#include <thread>

#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/testing.h"
#include "pippin/base/threads/dealt_range.h"

namespace pippin {
namespace {

TEST(SimulatedClock, SchedulesPiecesToThePartThatIsFree) {
  const Schedule plan = schedule({0, 0, {4, 1, 2}, {2, 1, 3}});
  EXPECT_EQ(plan.busy, (std::vector<double>{4, 6, 3}));
  EXPECT_EQ(plan.longest, 6);
  EXPECT_EQ(plan.total, 13);
  EXPECT_EQ(plan.dealt, 6);
}

TEST(SimulatedClock, RecordsSharesAndPieces) {
  const auto sleep = [](int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); };
  SimulatedClock clock;
  ThreadPool pool(3, clock);
  EXPECT_EQ(pool.num_threads(), 3);
  clock.restart();
  sleep(4);
  pool.run([&](int part, int parts) {
    EXPECT_EQ(parts, 3);
    if (part == 1) sleep(8);
  });
  deal_range(pool, 800, 1, 10, [&](int) {
    return [&](Range range) { sleep(range.end - range.begin <= 10 ? 1 : 0); };
  });
  const auto runs = clock.take();
  ASSERT_EQ(runs.size(), 3U);
  EXPECT_GE(runs[0].serial, 0.004);
  ASSERT_EQ(runs[0].own.size(), 3U);
  EXPECT_GE(runs[0].own[1], 0.008);
  EXPECT_GE(runs[0].middle, 0.004);
  EXPECT_TRUE(runs[0].pieces.empty());
  ASSERT_EQ(runs[1].pieces.size(), 10U);
  for (const double piece : runs[1].pieces) EXPECT_GE(piece, 0.001);
  EXPECT_TRUE(runs[2].own.empty());
}

TEST(SimulatedClock, KeepsTheFastestOfRepetitions) {
  std::vector<SimulatedRun> best = {{3, 0, {4, 1}, {2}}};
  keep_fastest(best, std::vector<SimulatedRun>{{2, 0, {5, 0.5}, {3}}});
  EXPECT_EQ(best[0].serial, 2);
  EXPECT_EQ(best[0].own, (std::vector<double>{4, 0.5}));
  EXPECT_EQ(best[0].pieces, (std::vector<double>{2}));
  EXPECT_ERROR(keep_fastest(best, {}), ErrorCode::Internal, "0 runs, not 1");
  EXPECT_ERROR(keep_fastest(best, std::vector<SimulatedRun>{{2, 0, {5}, {3}}}), ErrorCode::Internal,
               "1 shares in a run, not 2");
}

}  // namespace
}  // namespace pippin
