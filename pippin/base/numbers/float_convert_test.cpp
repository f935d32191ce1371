#include "pippin/base/numbers/float_convert.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/base/numbers/float16.h"

namespace pippin {
namespace {

// Every bf16 and many fp32 patterns, at an odd address and with a tail.
TEST(FloatConvert, AgreesWithTheScalarConversions) {
  std::vector<uint32_t> patterns;
  for (uint32_t i = 0; i < 0x10000; ++i) patterns.push_back(i << 16);
  std::mt19937 random(7);
  for (int i = 0; i < 100003; ++i) patterns.push_back(static_cast<uint32_t>(random()));
  for (const uint32_t edge : {0x477fefffu, 0x477ff000u, 0x38800000u, 0x387fffffu, 0x33000000u}) {
    patterns.push_back(edge);
  }
  std::vector<std::byte> from(patterns.size() * 4 + 1), to(patterns.size() * 2 + 1);
  std::memcpy(from.data() + 1, patterns.data(), patterns.size() * 4);
  EXPECT_TRUE(convert_f32_to_f16(from.data() + 1, to.data() + 1, patterns.size()));
  for (size_t i = 0; i < patterns.size(); ++i) {
    uint16_t got = 0;
    std::memcpy(&got, to.data() + 1 + i * 2, 2);
    const float value = std::bit_cast<float>(patterns[i]);
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(to_float(float16{got})));
    } else {
      ASSERT_EQ(got, to_float16(value).bits) << "pattern " << patterns[i];
    }
  }
}

TEST(FloatConvert, Bf16AndBack) {
  std::vector<uint16_t> halves(0x10000);
  for (size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<uint16_t>(i);
  std::vector<uint16_t> converted(halves.size());
  std::vector<float> floats(halves.size());
  const auto bytes = [](auto& v) { return reinterpret_cast<std::byte*>(v.data()); };
  EXPECT_TRUE(convert_bf16_to_f16(bytes(halves), bytes(converted), halves.size()));
  for (size_t i = 0; i < halves.size(); ++i) {
    const float value = to_float(bfloat16{halves[i]});
    if (std::isnan(value)) continue;
    ASSERT_EQ(converted[i], to_float16(value).bits) << i;
  }
  convert_f16_to_f32(bytes(halves), bytes(floats), halves.size());
  for (size_t i = 0; i < halves.size(); ++i) {
    const float value = to_float(float16{halves[i]});
    if (!std::isnan(value)) {
      ASSERT_EQ(floats[i], value) << i;
    }
  }
  convert_bf16_to_f32(bytes(halves), bytes(floats), halves.size());
  for (size_t i = 0; i < halves.size(); ++i) {
    const float value = to_float(bfloat16{halves[i]});
    if (!std::isnan(value)) {
      ASSERT_EQ(floats[i], value) << i;
    }
  }
}

TEST(FloatConvert, SaysWhereFiniteValuesOverflow) {
  std::vector<float> values(9, 1.0f);
  std::vector<uint16_t> halves(values.size());
  const auto run = [&] {
    return convert_f32_to_f16(reinterpret_cast<std::byte*>(values.data()),
                              reinterpret_cast<std::byte*>(halves.data()), values.size());
  };
  EXPECT_FALSE(run());
  values[3] = -std::numeric_limits<float>::infinity();
  values[4] = 65519.0f;
  EXPECT_FALSE(run());
  values[5] = -65520.0f;
  EXPECT_TRUE(run());
  values[5] = 0;
  values[8] = 1e6f;  // in the tail
  EXPECT_TRUE(run());
}

}  // namespace
}  // namespace pippin
