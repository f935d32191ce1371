#include "pippin/scheduling/piece_size.h"

#include <gtest/gtest.h>

namespace pippin::scheduling {
namespace {

TEST(PieceSize, BeginsSmall) {
  const PieceSize size(0.1);
  EXPECT_EQ(size.choose(1000, 0), PieceSize::kFirst);
  EXPECT_EQ(size.choose(3, 0), 3);
}

TEST(PieceSize, FillsWhatDecodingLeavesOfAStep) {
  PieceSize size(0.1);
  size.measured(100, 0.1);
  EXPECT_DOUBLE_EQ(size.tokens_per_second(), 1000);
  EXPECT_EQ(size.choose(10000, 0.02), 80);
  EXPECT_EQ(size.choose(10000, 0.4), 200);  // it progresses next to many
  EXPECT_EQ(size.choose(10000, 0), 400);
  for (int i = 0; i < 40; ++i) size.measured(100, 100);
  EXPECT_EQ(size.choose(10000, 0.02), PieceSize::kLeast);  // and on a slow machine
}

TEST(PieceSize, FollowsTheMachine) {
  PieceSize size(0.1);
  size.measured(100, 0.1);
  for (int i = 0; i < 20; ++i) size.measured(100, 1);
  EXPECT_NEAR(size.tokens_per_second(), 100, 1);
  size.measured(1, 100);  // tells little about longer pieces
  EXPECT_NEAR(size.tokens_per_second(), 100, 1);
}

TEST(PieceSize, LeavesNoShortRest) {
  PieceSize size(0.1);
  size.measured(1000, 1);
  EXPECT_EQ(size.choose(83, 0.02), 83);
  EXPECT_EQ(size.choose(100, 0.02), 80);
}

}  // namespace
}  // namespace pippin::scheduling
