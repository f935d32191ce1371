#include "pippin/speech/time_warping.h"

#include <algorithm>
#include <functional>
#include <limits>

#include <gtest/gtest.h>

#include "pippin/runtime/sampling/random.h"

namespace pippin::speech {
namespace {

// The cheapest path by trying all of them: the columns at which its rows begin.
std::vector<int64_t> slow_row_starts(const Costs& costs) {
  std::vector<int64_t> starts(static_cast<size_t>(costs.rows)), best;
  double least = std::numeric_limits<double>::infinity();
  const std::function<void(int64_t, int64_t, double)> walk = [&](int64_t row, int64_t column,
                                                                 double sum) {
    sum += costs.at(row, column);
    if (row + 1 == costs.rows && column + 1 == costs.columns) {
      if (sum < least) best = starts;
      least = std::min(least, sum);
      return;
    }
    if (column + 1 < costs.columns) walk(row, column + 1, sum);
    if (row + 1 == costs.rows) return;
    for (int64_t next = column; next <= std::min(column + 1, costs.columns - 1); ++next) {
      starts[static_cast<size_t>(row + 1)] = next;
      walk(row + 1, next, sum);
    }
  };
  walk(0, 0, 0);
  return best;
}

TEST(RowStarts, AreThoseOfTheCheapestPath) {
  runtime::RandomGenerator random(3);
  for (int64_t rows = 1; rows <= 4; ++rows) {
    for (int64_t columns = 1; columns <= 6; ++columns) {
      for (int trial = 0; trial < 10; ++trial) {
        Costs costs{rows, columns, {}};
        for (int64_t i = 0; i < rows * columns; ++i) {
          costs.values.push_back(static_cast<float>(random.uniform() - 0.5));
        }
        EXPECT_EQ(row_starts(costs), slow_row_starts(costs)) << rows << " x " << columns;
      }
    }
  }
}

TEST(MedianFilter, ReflectsAtTheEnds) {
  std::vector<float> row = {9, 1, 5, 3, 8};
  median_filter(row, 3);
  // Of 1 9 1, 9 1 5, 1 5 3, 5 3 8, 3 8 3.
  EXPECT_EQ(row, (std::vector<float>{1, 5, 3, 5, 3}));
  std::vector<float> even = {4, 2, 6, 1};
  median_filter(even, 7);  // of 1 6 2 4 2 6 1, 6 2 4 2 6 1 6, 2 4 2 6 1 6 2, 4 2 6 1 6 2 4
  EXPECT_EQ(even, (std::vector<float>{2, 4, 2, 4}));
  std::vector<float> brief = {3, 1, 2};
  median_filter(brief, 7);
  EXPECT_EQ(brief, (std::vector<float>{3, 1, 2}));
}

}  // namespace
}  // namespace pippin::speech
