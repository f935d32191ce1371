#include "pippin/compress/linear.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/base/numbers/float16.h"

namespace pippin::compress {
namespace {

using mil::DataType;

std::vector<float> random_values(size_t count, uint32_t seed, float mean, float outlier) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal(mean, 0.03f);
  std::vector<float> values(count);
  for (float& value : values) value = normal(generator);
  if (outlier != 0) values[count / 2] = outlier;
  return values;
}

// By the definition, in doubles.
double error_of(const std::vector<float>& values, const LinearScale& scale,
                const LinearFormat& format) {
  double error = 0;
  for (const float value : values) {
    const double q = std::clamp(std::nearbyint(double{value} / double{scale.scale} + scale.offset),
                                double(format.lowest()), double(format.highest()));
    const double difference = double{value} - (q - scale.offset) * double{scale.scale};
    error += difference * difference;
  }
  return error;
}

// Every fp16 scale whose range could be useful, and every offset.
double least_error(const std::vector<float>& values, const LinearFormat& format) {
  float largest = 0;
  for (const float value : values) largest = std::max(largest, std::abs(value));
  const int levels = format.highest() - format.lowest();
  double best = 1e30;
  for (uint32_t bits = 1; bits < 0x7c00; ++bits) {
    const float scale = to_float(float16{static_cast<uint16_t>(bits)});
    if (scale * static_cast<float>(levels) < 0.3f * largest) continue;
    if (scale * static_cast<float>(levels) > 2.5f * largest) break;
    const int first = format.symmetric ? format.middle() : format.lowest();
    const int last = format.symmetric ? format.middle() : format.highest();
    for (int offset = first; offset <= last; ++offset) {
      best = std::min(best, error_of(values, {scale, offset}, format));
      if (format.symmetric) best = std::min(best, error_of(values, {-scale, offset}, format));
    }
  }
  return best;
}

TEST(Linear, NearTheLeastErrorOfAllScales) {
  double ours = 0, least = 0;
  for (const bool symmetric : {true, false}) {
    for (const DataType type : {DataType::Int4, DataType::UInt4}) {
      for (uint32_t seed = 0; seed < 6; ++seed) {
        const LinearFormat format{type, symmetric, DataType::Float16};
        const auto values = random_values(16 + seed, seed, 0.02f * static_cast<float>(seed % 3),
                                          seed % 4 == 3 ? 0.2f : 0.0f);
        const LinearScale scale = choose_scale(values, {}, format);
        const double error = error_of(values, scale, format);
        const double best = least_error(values, format);
        EXPECT_GE(error, best * (1 - 1e-6));
        EXPECT_LE(error, best * 1.35) << "seed " << seed << " symmetric " << symmetric;
        ours += error;
        least += best;
      }
    }
  }
  EXPECT_LE(ours, least * 1.06);
}

TEST(Linear, EightBits) {
  for (const DataType type : {DataType::Int8, DataType::UInt8}) {
    const LinearFormat symmetric{type, true, DataType::Float16};
    const LinearFormat shifted{type, false, DataType::Float16};
    const auto values = random_values(24, 5, 0.03f, 0);
    const double error = error_of(values, choose_scale(values, {}, symmetric), symmetric);
    EXPECT_LE(error, least_error(values, symmetric) * 1.6);
    EXPECT_LT(error_of(values, choose_scale(values, {}, shifted), shifted), error * 0.8);
  }
}

TEST(Linear, NeverWorseThanTheLargestMagnitudeRounded) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    for (const DataType type : {DataType::Int4, DataType::UInt4, DataType::Int8, DataType::UInt8}) {
      const LinearFormat format{type, true, DataType::Float16};
      const auto values = random_values(32 + seed, seed, 0, seed % 5 == 0 ? -0.3f : 0.0f);
      float largest = 0;
      for (const float value : values) largest = std::max(largest, std::abs(value));
      const float plain =
          to_float(to_float16(largest / static_cast<float>(format.highest() - format.middle())));
      EXPECT_LE(error_of(values, choose_scale(values, {}, format), format),
                error_of(values, {plain, format.middle()}, format) * (1 + 1e-5));
    }
  }
}

TEST(Linear, CodesAreThoseOfTheDefinition) {
  for (const bool symmetric : {true, false}) {
    for (const DataType type : {DataType::Int4, DataType::UInt4, DataType::Int8, DataType::UInt8}) {
      const LinearFormat format{type, symmetric, DataType::Float32};
      const auto values = random_values(77, 9, 0.05f, 0);
      const LinearScale scale = choose_scale(values, {}, format);
      std::vector<uint8_t> codes(values.size());
      const double error = encode_linear(values, scale, format, codes.data());
      EXPECT_NEAR(error, error_of(values, scale, format), 1e-5 * error);
      double again = 0;
      for (size_t i = 0; i < values.size(); ++i) {
        const int code = format.lowest() < 0 ? static_cast<int8_t>(codes[i]) : codes[i];
        ASSERT_GE(code, format.lowest());
        ASSERT_LE(code, format.highest());
        const double difference = double{values[i]} - (code - scale.offset) * double{scale.scale};
        again += difference * difference;
      }
      EXPECT_NEAR(again, error, 1e-5 * error);
    }
  }
}

TEST(Linear, WeightsCount) {
  // Distinct values with counts give the same as the values themselves.
  const std::vector<float> values = {0.11f, -0.42f, 0.37f, 0.05f}, counts = {7, 1, 2, 900};
  std::vector<float> all;
  for (size_t i = 0; i < values.size(); ++i) all.insert(all.end(), size_t(counts[i]), values[i]);
  const LinearFormat format{DataType::Int4, true, DataType::Float32};
  const double weighted = error_of(all, choose_scale(values, counts, format), format);
  EXPECT_LE(weighted, error_of(all, choose_scale(all, {}, format), format) * 1.01);
  EXPECT_LT(weighted, error_of(all, choose_scale(values, {}, format), format));
}

TEST(Linear, EdgesOfTheFloats) {
  const LinearFormat format{DataType::Int4, true, DataType::Float16};
  std::vector<uint8_t> codes(3);
  const std::vector<float> zeros(3, 0.0f);
  EXPECT_EQ(encode_linear(zeros, choose_scale(zeros, {}, format), format, codes.data()), 0);
  EXPECT_EQ(codes, (std::vector<uint8_t>{0, 0, 0}));
  // The smallest and the largest numbers of fp16, where scales run out.
  for (const float unit : {0x1p-24f, 8192.0f}) {
    const std::vector<float> values = {unit, -3 * unit, 7 * unit};
    const LinearScale scale = choose_scale(values, {}, format);
    EXPECT_NEAR(encode_linear(values, scale, format, codes.data()), 0, 1e-6 * unit * unit);
  }
  const LinearFormat asymmetric{DataType::UInt8, false, DataType::Float16};
  const std::vector<float> above = {5, 6, 7};  // 0 stays in the range: the offset is a uint8
  EXPECT_LT(error_of(above, choose_scale(above, {}, asymmetric), asymmetric), 1e-3);
}

}  // namespace
}  // namespace pippin::compress
