#include "pippin/compress/vector_palette.h"

#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "pippin/compress/palette.h"
#include "pippin/compress/palette_entries.h"

namespace pippin::compress {
namespace {

double error_of(const std::vector<float>& vectors, const std::vector<float>& palette, size_t size) {
  const NearestVector nearest(palette, size);
  double error = 0;
  for (size_t i = 0; i < vectors.size(); i += size) {
    size_t index = 0;
    error += double{nearest.squared_distance(vectors.data() + i, index)};
    EXPECT_EQ(index, nearest(vectors.data() + i));
  }
  return error;
}

TEST(VectorPalette, FindsClustersThatAreThere) {
  std::mt19937 generator(5);
  std::normal_distribution<float> noise(0.0f, 0.01f);
  std::vector<float> vectors;
  for (int i = 0; i < 4000; ++i) {
    const int place = i % 16;
    vectors.push_back(static_cast<float>(place % 4) + noise(generator));
    vectors.push_back(static_cast<float>(place / 4) + noise(generator));
    vectors.push_back(noise(generator));
  }
  VectorPaletteOptions options;
  options.dimensions = 3;
  options.restarts = 8;
  const auto palette = vector_palette(vectors, options);
  ASSERT_EQ(palette.size(), 48u);
  EXPECT_NEAR(error_of(vectors, palette, 3), 4000 * 3 * 1e-4, 4000 * 3 * 1e-4 * 0.1);
  EXPECT_EQ(palette, vector_palette(vectors, options));
}

TEST(VectorPalette, AVectorIsBetterThanItsParts) {
  // 4 bits for two correlated values compared with 2 bits for each.
  std::mt19937 generator(6);
  std::normal_distribution<float> normal;
  std::vector<float> vectors;
  for (int i = 0; i < 5000; ++i) {
    const float x = normal(generator);
    vectors.push_back(x);
    vectors.push_back(0.9f * x + 0.3f * normal(generator));
  }
  const auto scalar = optimal_palette(distribution_of(vectors), 4);
  std::vector<float> product;
  for (const double a : scalar) {
    for (const double b : scalar) {
      product.push_back(static_cast<float>(a));
      product.push_back(static_cast<float>(b));
    }
  }
  EXPECT_LT(error_of(vectors, vector_palette(vectors, {}), 2), 0.6 * error_of(vectors, product, 2));
}

TEST(VectorPalette, FewerVectorsThanEntries) {
  const std::vector<float> vectors = {1, 2, 3, 4, 1, 2};
  const auto palette = vector_palette(vectors, {});
  EXPECT_EQ(palette.size(), 32u);
  EXPECT_EQ(error_of(vectors, palette, 2), 0);
  const std::vector<float> zeros(64);
  EXPECT_EQ(vector_palette(zeros, {}), std::vector<float>(32));
}

TEST(PaletteEntries, ScalesTakeChannelsOfEveryMagnitude) {
  std::mt19937 generator(4);
  std::normal_distribution<float> normal;
  std::vector<std::vector<float>> channels(8, std::vector<float>(512));
  std::vector<float> all;
  for (size_t c = 0; c < channels.size(); ++c) {
    for (float& value : channels[c]) {
      value = std::ldexp(normal(generator), -static_cast<int>(c));
      if (c == 7) value = 0;
      all.push_back(value);
    }
  }
  const auto type = mil::DataType::Float16;
  const auto stored = stored_palette(optimal_palette(distribution_of(all), 16), 16, type);
  const NearestEntry plain(stored);
  for (const bool integers : {false, true}) {
    const ScaledPalette scaled = scaled_palette(channels, 16, integers, type);
    const NearestEntry nearest(scaled.entries);
    ASSERT_TRUE(std::is_sorted(scaled.entries.begin(), scaled.entries.end()));
    for (size_t c = 0; c < channels.size(); ++c) {
      double error = 0, plain_error = 0, energy = 0;
      for (const float value : channels[c]) {
        const float entry = scaled.entries[nearest(value / scaled.scales[c])];
        if (integers) {
          EXPECT_EQ(entry, std::round(entry));
        }
        error += std::pow(double{value} - double{entry_value(entry, scaled.scales[c], type)}, 2);
        plain_error += std::pow(double{value} - double{stored[plain(value)]}, 2);
        energy += double{value} * double{value};
      }
      EXPECT_LE(error, 0.03 * energy + 1e-6) << c;
      if (c >= 3 && c < 7) {
        EXPECT_LT(error, plain_error);
      }
    }
  }
}

}  // namespace
}  // namespace pippin::compress
