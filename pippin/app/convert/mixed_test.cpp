#include "pippin/app/convert/mixed.h"

#include <gtest/gtest.h>

namespace pippin::app {
namespace {

TEST(Mixed, BytesGoWhereTheySaveMost) {
  const std::vector<std::vector<MixedChoice>> weights = {
      {{10, 100}, {20, 10}, {40, 1}},
      {{10, 5}, {20, 2}, {40, 0}},
      {{10, 50}, {20, 45}, {40, 0}},
  };
  EXPECT_EQ(spend_bytes(weights, 5), (std::vector<size_t>{0, 0, 0}));
  EXPECT_EQ(spend_bytes(weights, 39), (std::vector<size_t>{0, 0, 0}));
  EXPECT_EQ(spend_bytes(weights, 40), (std::vector<size_t>{1, 0, 0}));
  // A form that initially costs more may be the better choice.
  EXPECT_EQ(spend_bytes(weights, 70), (std::vector<size_t>{1, 0, 2}));
  EXPECT_EQ(spend_bytes(weights, 1000), (std::vector<size_t>{2, 2, 2}));
}

TEST(Mixed, WhatSavesNothingIsNotBought) {
  EXPECT_EQ(spend_bytes({{{10, 0}, {20, 0}}}, 100), (std::vector<size_t>{0}));
  EXPECT_TRUE(spend_bytes({}, 100).empty());
}

}  // namespace
}  // namespace pippin::app
