#include "pippin/runtime/package/lanes.h"

#include <vector>

#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/testing.h"

namespace pippin::runtime {
namespace {

TEST(Lanes, AreReservedOnceAndTakenAgain) {
  Lanes lanes;
  std::vector<size_t> reserved;
  const auto take = [&] { return lanes.take([&](size_t count) { reserved.push_back(count); }); };
  EXPECT_EQ(take(), 0U);
  EXPECT_EQ(take(), 1U);
  lanes.give_back(0);
  EXPECT_EQ(take(), 0U);
  EXPECT_ERROR(lanes.take([](size_t) { fail(ErrorCode::LimitExceeded, "no memory"); }),
               ErrorCode::LimitExceeded, "no memory");
  EXPECT_EQ(take(), 2U);
  EXPECT_EQ(reserved, (std::vector<size_t>{1, 2, 3}));
}

}  // namespace
}  // namespace pippin::runtime
