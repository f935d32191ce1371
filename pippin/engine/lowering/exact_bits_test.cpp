#include "pippin/engine/lowering/exact_bits.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "pippin/base/numbers/float16.h"

namespace pippin::engine {
namespace {

using kernels::WeightType;

const std::byte* bytes(const std::vector<float>& numbers) {
  return reinterpret_cast<const std::byte*>(numbers.data());
}

float half_at(const ExactHalves& halves, size_t i) {
  uint16_t bits;
  std::memcpy(&bits, halves.bytes.data() + 2 * i, sizeof(bits));
  return halves.type == WeightType::F16 ? to_float(float16{bits}) : to_float(bfloat16{bits});
}

std::optional<ExactHalves> halves_of(const std::vector<float>& numbers) {
  return exact_halves(bytes(numbers), static_cast<int64_t>(numbers.size()));
}

TEST(ExactBits, HalvesAreOfTheTypeThatHoldsAllNumbers) {
  const float tiny = std::ldexp(1.0f, -60), fine = 1 + std::ldexp(1.0f, -10);
  const std::vector<float> in_f16 = {0, -0.0f, fine, -65504, std::ldexp(1.0f, -24)},
                           in_bf16 = {tiny, 1, -1e30f * 0, 3};
  const auto f16 = halves_of(in_f16), bf16 = halves_of(in_bf16);
  ASSERT_TRUE(f16 && bf16);
  EXPECT_EQ(f16->type, WeightType::F16);
  EXPECT_EQ(bf16->type, WeightType::BF16);
  for (size_t i = 0; i < in_f16.size(); ++i) EXPECT_EQ(half_at(*f16, i), in_f16[i]);
  for (size_t i = 0; i < in_bf16.size(); ++i) EXPECT_EQ(half_at(*bf16, i), in_bf16[i]);
  EXPECT_FALSE(halves_of({tiny, fine}));  // neither type holds both
  EXPECT_FALSE(halves_of({1, 0.1f}));
  EXPECT_FALSE(halves_of({std::nanf("")}));
  EXPECT_TRUE(halves_of({}));
}

// As a checkpoint's biases become offsets.
TEST(ExactBits, ProductsAreTheNumbersThatWereDivided) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (const WeightType type : {WeightType::F16, WeightType::BF16}) {
    const auto half = [&](float value) {
      return type == WeightType::F16 ? to_float(to_float16(value)) : to_float(to_bfloat16(value));
    };
    std::vector<float> scales, biases, offsets;
    for (int i = 0; i < 20000; ++i) {
      const float size = type == WeightType::F16 ? 1.0f : std::ldexp(1.0f, i % 80 - 40);
      scales.push_back(half(normal(random) * size));
      biases.push_back(i % 7 == 0 ? 0 : half(normal(random) * 8 * size));
      if (scales.back() == 0) scales.back() = 1;
      offsets.push_back(biases.back() == 0 ? 0.0f : -biases.back() / scales.back());
    }
    const auto count = static_cast<int64_t>(offsets.size());
    const auto products = exact_products(bytes(offsets), bytes(scales), count);
    ASSERT_TRUE(products);
    EXPECT_EQ(products->type, type);
    for (size_t i = 0; i < offsets.size(); ++i) ASSERT_EQ(half_at(*products, i), -biases[i]) << i;
    offsets[17000] = std::nextafter(offsets[17000], 1e9f);
    EXPECT_FALSE(exact_products(bytes(offsets), bytes(scales), count));
  }
  // Scales of 0, whose products give no information.
  const std::vector<float> zero = {0}, one = {1};
  EXPECT_TRUE(exact_products(bytes(zero), bytes(zero), 1));
  EXPECT_FALSE(exact_products(bytes(one), bytes(zero), 1));
}

TEST(ExactBits, BytesAreIntegersFromZeroOn) {
  std::vector<float> numbers;
  for (int i = 0; i < 256; ++i) numbers.push_back(static_cast<float>(i));
  const auto all = exact_bytes(bytes(numbers), WeightType::F32, 256);
  ASSERT_TRUE(all);
  for (size_t i = 0; i < 256; ++i) EXPECT_EQ(static_cast<size_t>((*all)[i]), i);
  for (const float wrong :
       {256.0f, -1.0f, 0.5f, std::nanf(""), 1e30f, std::numeric_limits<float>::infinity()}) {
    numbers[255] = wrong;
    EXPECT_FALSE(exact_bytes(bytes(numbers), WeightType::F32, 256)) << wrong;
  }
  const float16 halves[] = {to_float16(15), to_float16(0), to_float16(7.5f)};
  const auto* of_halves = reinterpret_cast<const std::byte*>(halves);
  const auto two = exact_bytes(of_halves, WeightType::F16, 2);
  ASSERT_TRUE(two);
  EXPECT_EQ((*two)[0], std::byte{15});
  EXPECT_FALSE(exact_bytes(of_halves, WeightType::F16, 3));
}

}  // namespace
}  // namespace pippin::engine
