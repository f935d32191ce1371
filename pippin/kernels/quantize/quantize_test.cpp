#include "pippin/kernels/quantize/quantize.h"

#include <cmath>
#include <memory>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace pippin::kernels {
namespace {

constexpr int64_t kCounts[] = {0, 1, 3, 15, 16, 17, 31, 100, 1024, 1040, 2500};
constexpr LinearRounding kRoundings[] = {
    {0.02f, -8, 7}, {-0.013f, -3, 12}, {0.0007f, -128, 127}, {1e-30f, 0, 255}};

// In memory of its exact size, so that a sanitizer detects every access outside.
std::unique_ptr<float[]> random_values(int64_t count, uint32_t seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal(0.0f, 0.05f);
  auto values = std::make_unique<float[]>(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    const auto kind = generator() % 40;
    values[static_cast<size_t>(i)] = kind == 0   ? 0.0f
                                     : kind == 1 ? -30000.0f
                                     : kind == 2 ? 0x1p-140f
                                                 : normal(generator);
  }
  return values;
}

class Quantize : public ::testing::TestWithParam<const QuantizeKernels*> {};

TEST_P(Quantize, MeasuresByTheDefinition) {
  for (const int64_t count : kCounts) {
    const auto x = random_values(count, 1), spread = random_values(count, 2);
    for (int64_t i = 0; i < count; ++i) spread[size_t(i)] = std::fabs(spread[size_t(i)]) + 0.1f;
    for (const LinearRounding& to : kRoundings) {
      for (const float* weights :
           {static_cast<const float*>(nullptr), static_cast<const float*>(spread.get())}) {
        double xp = 0, pp = 0, ps = 0, error = 0, sizes = 0;
        for (int64_t i = 0; i < count; ++i) {
          const double value = double{x[size_t(i)]};
          const double w = weights == nullptr ? 1 : double{weights[i]};
          const float scaled = x[size_t(i)] * (1 / to.scale);
          const double p = std::nearbyint(double{std::fmin(std::fmax(scaled, to.low), to.high)});
          xp += value * p * w;
          pp += p * p * w;
          ps += p * w;
          error += (value - p * double{to.scale}) * (value - p * double{to.scale}) * w;
          sizes += std::fabs(value * p * w);
        }
        LinearSums sums;
        GetParam()->measure(x.get(), weights, count, to, &sums);
        EXPECT_NEAR(sums.xp, xp, 1e-5 * sizes);
        EXPECT_NEAR(sums.pp, pp, 1e-5 * pp);
        EXPECT_NEAR(sums.p, ps, 1e-5 * pp);
        EXPECT_NEAR(sums.error, error, 5e-5 * error);  // x - p * scale is rounded twice
      }
    }
  }
}

TEST_P(Quantize, GivesTheCodesOfScalarCode) {
  for (const int64_t count : kCounts) {
    const auto x = random_values(count, 3);
    for (const LinearRounding& to : kRoundings) {
      const auto bytes = static_cast<size_t>(count);
      const auto codes = std::make_unique<uint8_t[]>(bytes);
      const auto expected = std::make_unique<uint8_t[]>(bytes);
      GetParam()->encode(x.get(), count, to, -static_cast<int>(to.low), codes.get());
      quantize_scalar.encode(x.get(), count, to, -static_cast<int>(to.low), expected.get());
      for (size_t i = 0; i < bytes; ++i) ASSERT_EQ(codes[i], expected[i]) << i << " of " << count;
    }
  }
}

TEST_P(Quantize, PacksTheCodesOfScalarCode) {
  for (const int64_t size : {16, 32, 48, 512}) {
    constexpr int64_t kCount = 7;
    const auto x = random_values(kCount * size, 4);
    const LinearLevels levels = {0, 15, 8, false, true, nullptr, 0};
    std::vector<float> scales, offsets;
    for (int64_t i = 0; i < kCount; ++i) {
      scales.push_back(i % 2 == 0 ? 0.01f : -0.02f);
      offsets.push_back(static_cast<float>(i * 2));
    }
    const auto bytes = static_cast<size_t>(kCount * size / 2);
    const auto codes = std::make_unique<uint8_t[]>(bytes);
    const auto expected = std::make_unique<uint8_t[]>(bytes);
    BlockSums sums = {}, expected_sums = {};
    GetParam()->pack4(x.get(), kCount, size, levels, scales.data(), offsets.data(), codes.get(),
                      &sums);
    quantize_scalar.pack4(x.get(), kCount, size, levels, scales.data(), offsets.data(),
                          expected.get(), &expected_sums);
    for (size_t i = 0; i < bytes; ++i) ASSERT_EQ(codes[i], expected[i]) << i;
    EXPECT_NEAR(sums.error, expected_sums.error, 1e-5 * expected_sums.error);
    EXPECT_NEAR(sums.energy, expected_sums.energy, 1e-5 * expected_sums.energy);
  }
}

TEST_P(Quantize, AddsProducts) {
  for (const int64_t count : kCounts) {
    for (const int64_t rows : {0, 1, 2, 9}) {
      const int64_t stride = count + 3;
      const auto from = random_values(std::max<int64_t>(0, (rows - 1) * stride + count), 5);
      const auto factors = random_values(rows, 6), start = random_values(count, 7);
      const auto sums = std::make_unique<float[]>(static_cast<size_t>(count));
      std::copy_n(start.get(), count, sums.get());
      GetParam()->add_products(factors.get(), from.get(), stride, rows, count, sums.get());
      for (int64_t j = 0; j < count; ++j) {
        double expected = double{start[size_t(j)]}, sizes = std::fabs(expected);
        for (int64_t row = 0; row < rows; ++row) {
          const double product =
              double{factors[size_t(row)]} * double{from[size_t(row * stride + j)]};
          expected += product;
          sizes += std::fabs(product);
        }
        EXPECT_NEAR(double{sums[size_t(j)]}, expected, 1e-6 * sizes);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, Quantize,
                         ::testing::ValuesIn(runnable(quantize_kernels(), detect_cpu())),
                         [](const auto& which) { return std::string(which.param->name); });

// Whether the scales are good is tested by compress/blocks_test.cpp.
TEST(QuantizeVectors, GiveTheSameBits) {
  const std::vector<float> shares = {1.0f, 0.85f};
  for (const int64_t size : {1, 5, 16, 32, 65, 512}) {
    const auto x = random_values(kBlocksAtOnce * size, 9);
    const auto weights = random_values(kBlocksAtOnce * size, 10);
    for (int64_t i = 0; i < kBlocksAtOnce * size; ++i) {
      weights[size_t(i)] = std::fabs(weights[size_t(i)]);
    }
    for (const bool symmetric : {true, false}) {
      const LinearLevels levels = {-8, 7, 0, symmetric, true, shares.data(), 2};
      for (const float* w :
           {static_cast<const float*>(nullptr), static_cast<const float*>(weights.get())}) {
        for (const int64_t count : {int64_t{1}, int64_t{11}, kBlocksAtOnce}) {
          std::vector<std::vector<float>> found;
          std::vector<LinearSums> sums;
          for (const QuantizeKernels* kernels : runnable(quantize_kernels(), detect_cpu())) {
            if (kernels->choose_scales == nullptr) continue;
            std::vector<float> scratch(static_cast<size_t>(2 * size * kBlocksAtOnce));
            std::vector<float> results(2 * kBlocksAtOnce, -1.0f);
            kernels->choose_scales(x.get(), w, count, size, levels, scratch.data(), results.data(),
                                   results.data() + kBlocksAtOnce);
            found.push_back(results);
            sums.emplace_back();
            kernels->measure(x.get(), w, count * size, kRoundings[0], &sums.back());
          }
          for (size_t i = 1; i < found.size(); ++i) {
            EXPECT_EQ(found[i], found[0]);
            EXPECT_EQ(sums[i].xp, sums[0].xp);
            EXPECT_EQ(sums[i].pp, sums[0].pp);
            EXPECT_EQ(sums[i].p, sums[0].p);
            EXPECT_EQ(sums[i].error, sums[0].error);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace pippin::kernels
