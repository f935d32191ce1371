#include "pippin/runtime/draft/row_cost.h"

#include <gtest/gtest.h>

namespace pippin::runtime {
namespace {

TEST(RowCost, AssumesLittleOfWhatWasNotMeasured) {
  RowCost cost;
  EXPECT_EQ(cost.ratio(1), 1);
  EXPECT_GT(cost.ratio(2), 1.0);
  EXPECT_LT(cost.ratio(8), 3.0);
  EXPECT_GT(cost.ratio(9), cost.ratio(8));
}

TEST(RowCost, LearnsFromPasses) {
  RowCost cost;
  for (int i = 0; i < 30; ++i) {
    cost.measured(1, 0.02);
    cost.measured(4, 0.04);
    cost.measured(8, 0.08);
  }
  EXPECT_NEAR(cost.one(), 0.02, 1e-6);
  EXPECT_NEAR(cost.ratio(4), 2, 0.1);
  EXPECT_NEAR(cost.ratio(8), 4, 0.1);
  // Between the measured points, and beyond them.
  EXPECT_GT(cost.ratio(6), 2.5);
  EXPECT_LT(cost.ratio(6), 3.5);
  EXPECT_GT(cost.ratio(16), 4);
}

TEST(RowCost, OneHiccupIsForgotten) {
  RowCost cost;
  for (int i = 0; i < 20; ++i) {
    cost.measured(1, 0.02);
    cost.measured(8, 0.06);
  }
  cost.measured(8, 5);
  EXPECT_LT(cost.ratio(8), 5);
  for (int i = 0; i < 12; ++i) cost.measured(8, 0.06);
  EXPECT_NEAR(cost.ratio(8), 3, 0.3);
}

// A point that was slow once is tried again when its neighbours are fast.
TEST(RowCost, WhatWasMeasuredLongAgoCountsLess) {
  RowCost cost;
  cost.measured(1, 0.02);
  cost.measured(8, 0.4);
  const double slow = cost.ratio(8);
  for (int i = 0; i < 300; ++i) {
    cost.measured(7, 0.04);
    cost.measured(9, 0.05);
  }
  EXPECT_GT(slow, 4);
  EXPECT_NEAR(cost.ratio(8), 2.25, 0.3);
}

}  // namespace
}  // namespace pippin::runtime
