#include "pippin/compress/palette.h"

#include <algorithm>
#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "pippin/base/numbers/float16.h"

namespace pippin::compress {
namespace {

double interval_error(const Distribution& d, size_t start, size_t end) {
  double sum = 0, weight = 0, error = 0;
  for (size_t i = start; i < end; ++i) {
    sum += double{d.values[i]} * double{d.weights[i]};
    weight += double{d.weights[i]};
  }
  for (size_t i = start; i < end; ++i) {
    const double difference = double{d.values[i]} - sum / weight;
    error += difference * difference * double{d.weights[i]};
  }
  return error;
}

// The smallest error over all ways to cut [start, end) into `pieces`.
double least_error(const Distribution& d, size_t start, size_t pieces) {
  const size_t count = d.values.size();
  if (pieces == 1) return interval_error(d, start, count);
  double best = 1e30;
  for (size_t end = start + 1; end + pieces - 1 <= count; ++end) {
    best = std::min(best, interval_error(d, start, end) + least_error(d, end, pieces - 1));
  }
  return best;
}

double error_of(const Distribution& d, const std::vector<double>& palette) {
  double error = 0;
  for (size_t i = 0; i < d.values.size(); ++i) {
    double least = 1e30;
    for (const double entry : palette) {
      least = std::min(least, std::pow(double{d.values[i]} - entry, 2));
    }
    error += least * double{d.weights[i]};
  }
  return error;
}

TEST(Palette, IsTheBestOfAll) {
  std::mt19937 generator(7);
  std::normal_distribution<float> normal(100.0f, 0.5f);
  std::uniform_int_distribution<int> counts(1, 9);
  for (int round = 0; round < 40; ++round) {
    Distribution d;
    for (int i = 0; i < 14; ++i) d.values.push_back(normal(generator));
    std::sort(d.values.begin(), d.values.end());
    for (int i = 0; i < 14; ++i) d.weights.push_back(static_cast<float>(counts(generator)));
    for (const size_t entries : {2u, 3u, 4u, 5u}) {
      const auto palette = optimal_palette(d, entries);
      ASSERT_EQ(palette.size(), entries);
      const double best = least_error(d, 0, entries);
      EXPECT_NEAR(error_of(d, palette), best, 1e-9 * best + 1e-12);
    }
  }
}

TEST(Palette, ManyValuesAndEntries) {
  std::mt19937 generator(3);
  std::normal_distribution<float> normal(0.0f, 0.1f);
  Float16Counter counter;
  std::vector<uint16_t> bits(50000);
  for (uint16_t& value : bits) value = to_float16(normal(generator)).bits;
  counter.add(bits);
  const Distribution d = counter.take();
  double before = 1e30;
  for (const size_t entries : {2u, 4u, 8u, 16u, 64u, 256u}) {
    const auto palette = optimal_palette(d, entries);
    ASSERT_EQ(palette.size(), entries);
    // A step of Lloyd's algorithm does not improve it: every entry is the mean of its values.
    const auto stored = stored_palette(palette, entries, mil::DataType::Float32);
    const NearestEntry nearest(stored);
    std::vector<double> sums(entries), weights(entries);
    for (size_t i = 0; i < d.values.size(); ++i) {
      sums[nearest(d.values[i])] += double{d.values[i]} * double{d.weights[i]};
      weights[nearest(d.values[i])] += double{d.weights[i]};
    }
    for (size_t i = 0; i < entries; ++i) EXPECT_NEAR(sums[i] / weights[i], palette[i], 1e-5);
    const double error = error_of(d, palette);
    EXPECT_LT(error, before);
    before = error;
  }
  // Max's quantizer of a normal distribution: 4 levels leave 0.1175 of the variance.
  EXPECT_NEAR(error_of(d, optimal_palette(d, 4)) / 50000, 0.1175 * 0.01, 0.004 * 0.01);
}

TEST(Palette, FewerValuesThanEntries) {
  const Distribution d = distribution_of({0.5f, -1.0f, 0.5f});
  EXPECT_EQ(d.values, (std::vector<float>{-1.0f, 0.5f}));
  EXPECT_EQ(d.weights, (std::vector<float>{1, 2}));
  const auto palette = stored_palette(optimal_palette(d, 8), 4, mil::DataType::Float16);
  EXPECT_EQ(palette, (std::vector<float>{-1.0f, 0.5f, 0.5f, 0.5f}));
  EXPECT_EQ(NearestEntry(palette)(-0.9f), 0);
  EXPECT_EQ(NearestEntry(palette)(7.0f), 3);
}

TEST(Distribution, CountsTheBitsOfFloat16) {
  Float16Counter counter;
  const std::vector<uint16_t> bits = {0x8000, 0x0000, 0xbc00, 0x3c00, 0x3c00};
  for (int turn = 0; turn < 2; ++turn) {  // the second time from the start
    counter.add(bits);
    const Distribution d = counter.take();
    EXPECT_EQ(d.values, (std::vector<float>{-1.0f, 0.0f, 1.0f}));
    EXPECT_EQ(d.weights, (std::vector<float>{1, 2, 2}));
  }
}

TEST(Distribution, MergesNeighboursAboveTheLimit) {
  const Distribution d = distribution_of({1, 2, 3, 4, 4, 4}, 2);
  EXPECT_EQ(d.values, (std::vector<float>{1.5f, 3.75f}));
  EXPECT_EQ(d.weights, (std::vector<float>{2, 4}));
}

}  // namespace
}  // namespace pippin::compress
