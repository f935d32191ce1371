#include "pippin/base/numbers/float16.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace pippin {
namespace {

TEST(Float16, EveryValueSurvivesTheRoundTrip) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float16 half{static_cast<uint16_t>(bits)};
    const float value = to_float(half);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(to_float(to_float16(value))));
    } else {
      EXPECT_EQ(to_float16(value).bits, bits);
    }
  }
}

TEST(Float16, RoundsToNearestEven) {
  EXPECT_EQ(to_float16(65504.f).bits, 0x7bff);
  EXPECT_EQ(to_float16(65519.9f).bits, 0x7bff);
  EXPECT_EQ(to_float16(65520.f).bits, 0x7c00);
  EXPECT_EQ(to_float16(-1e9f).bits, 0xfc00);
  EXPECT_EQ(to_float16(1.f + 0x1p-11f).bits, 0x3c00);             // halfway, to even (down)
  EXPECT_EQ(to_float16(1.f + 3 * 0x1p-11f).bits, 0x3c02);         // halfway, to even (up)
  EXPECT_EQ(to_float16(1.f + 0x1p-11f + 0x1p-20f).bits, 0x3c01);  // above halfway
  EXPECT_EQ(to_float16(0x1p-25f).bits, 0);                        // halfway to the smallest
                                                                  // subnormal
  EXPECT_EQ(to_float16(0x1.8p-25f).bits, 1);
  EXPECT_EQ(to_float16(-0.f).bits, 0x8000);
}

TEST(BFloat16, RoundsToNearestEven) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const bfloat16 half{static_cast<uint16_t>(bits)};
    const float value = to_float(half);
    if (!std::isnan(value)) {
      EXPECT_EQ(to_bfloat16(value).bits, bits);
    }
  }
  EXPECT_EQ(to_bfloat16(1.f + 0x1p-8f).bits, 0x3f80);
  EXPECT_EQ(to_bfloat16(1.f + 3 * 0x1p-8f).bits, 0x3f82);
  EXPECT_TRUE(std::isnan(to_float(to_bfloat16(std::numeric_limits<float>::quiet_NaN()))));
}

}  // namespace
}  // namespace pippin
