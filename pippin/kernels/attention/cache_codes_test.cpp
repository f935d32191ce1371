#include "pippin/kernels/attention/cache_codes.h"

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/base/numbers/float16.h"

namespace pippin::kernels {
namespace {

constexpr CacheType kTypes[] = {CacheType::Q8, CacheType::Q4};

size_t at(int64_t index) {
  return static_cast<size_t>(index);
}

struct Row {
  Row(CacheType type, const std::vector<float>& values)
      : type_(type),
        dims_(std::ssize(values)),
        group_(code_group(type, dims_)),
        codes(at(code_bytes(type, dims_)), 0xff),
        scales(at(dims_ / group_)) {
    write_codes(type, values.data(), dims_, codes.data(), scales.data());
  }
  float operator[](int64_t i) const {
    return read_code(type_, codes.data(), scales.data(), group_, dims_, i);
  }
  float scale_of(int64_t i) const { return to_float(float16{scales[at(i / group_)]}); }
  int64_t group() const { return group_; }

 private:
  CacheType type_;
  int64_t dims_, group_;

 public:
  std::vector<uint8_t> codes;
  std::vector<uint16_t> scales;
};

std::vector<float> random_row(int64_t dims, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(at(dims));
  for (float& value : values) value = normal(random);
  return values;
}

TEST(CacheCodes, SizesOfRows) {
  EXPECT_EQ(code_group(CacheType::Q8, 128), 64);
  EXPECT_EQ(code_group(CacheType::Q8, 96), 32);
  EXPECT_EQ(code_group(CacheType::Q8, 80), 80);
  EXPECT_EQ(code_group(CacheType::Q4, 128), 32);
  EXPECT_EQ(code_bytes(CacheType::Q8, 33), 33);
  EXPECT_EQ(code_bytes(CacheType::Q4, 128), 64);
  EXPECT_EQ(code_bytes(CacheType::Q4, 33), 0);
}

// Each value is within half a step, and the group's largest within fp16's rounding of the scale.
TEST(CacheCodes, RoundsToTheNearestCode) {
  for (const CacheType type : kTypes) {
    const float most = type == CacheType::Q8 ? 127 : 7;
    for (const int64_t dims : {2, 8, 20, 32, 64, 80, 96, 128, 256}) {
      for (const float size : {1.0f, 1e-6f, 1e-4f, 2000.0f}) {
        std::vector<float> values = random_row(dims, static_cast<uint32_t>(dims));
        for (float& value : values) value *= size;
        values[0] *= 50;
        const Row row(type, values);
        for (int64_t i = 0; i < dims; ++i) {
          ASSERT_LE(std::fabs(row[i] - values[at(i)]), row.scale_of(i) * 0.5001f) << i;
        }
        for (int64_t first = 0; first < dims; first += row.group()) {
          float largest = 0;
          for (int64_t i = first; i < first + row.group(); ++i) {
            largest = std::max(largest, std::fabs(values[at(i)]));
          }
          // Subnormal scales are multiples of 2^-24.
          ASSERT_LE(row.scale_of(first), largest / most * 1.001f + 0x1p-24f);
          ASSERT_GE(row.scale_of(first) * most, largest * 0.99999f);
        }
      }
    }
  }
}

TEST(CacheCodes, ZerosAreZeros) {
  for (const CacheType type : kTypes) {
    const Row row(type, std::vector<float>(64, 0.0f));
    for (int64_t i = 0; i < 64; ++i) ASSERT_EQ(row[i], 0.0f);
  }
}

// A group that fp16 scales cannot reach says so; its neighbours are as usual.
TEST(CacheCodes, InfinitiesAndNaNsMakeTheirGroupNaN) {
  for (const CacheType type : kTypes) {
    for (const float ugly : {std::numeric_limits<float>::infinity(), NAN, 1e30f, -1e8f}) {
      std::vector<float> values = random_row(128, 3);
      values[100] = ugly;
      const Row row(type, values);
      for (int64_t i = 0; i < 128; ++i) {
        ASSERT_EQ(std::isnan(row[i]), i / row.group() == 100 / row.group()) << ugly << " " << i;
      }
    }
  }
}

TEST(CacheCodes, RotationIsItsOwnInverseAndKeepsProducts) {
  for (const int64_t dims : {1, 2, 20, 33, 64, 96, 128, 256}) {
    const std::vector<float> a = random_row(dims, 5), b = random_row(dims, 6);
    std::vector<float> x = a, y = b;
    rotate_row(x.data(), dims);
    rotate_row(y.data(), dims);
    double before = 0, after = 0;
    for (int64_t i = 0; i < dims; ++i) {
      before += double{a[at(i)]} * double{b[at(i)]};
      after += double{x[at(i)]} * double{y[at(i)]};
    }
    EXPECT_NEAR(before, after, 1e-4);
    if (dims % 2 == 0) {
      EXPECT_NE(x, a);
    }
    rotate_row(x.data(), dims);
    for (int64_t i = 0; i < dims; ++i) ASSERT_NEAR(x[at(i)], a[at(i)], 1e-5);
  }
}

// The purpose of rotations: an outlier no longer decides the steps of its whole group.
TEST(CacheCodes, RotationSpreadsOutliers) {
  std::vector<float> values = random_row(64, 7);
  values[11] = 200;
  const auto error = [](const std::vector<float>& x) {
    const Row row(CacheType::Q4, x);
    double sum = 0;
    for (int64_t i = 0; i < std::ssize(x); ++i) sum += std::fabs(double{row[i]} - double{x[at(i)]});
    return sum / static_cast<double>(x.size());
  };
  const double plain = error(values);
  rotate_row(values.data(), 64);
  EXPECT_NE(plain, error(values));
  std::vector<float> spread(64, 0.0f);
  spread[11] = 200;
  rotate_row(spread.data(), 64);
  for (const float value : spread) ASSERT_NEAR(std::fabs(value), 25, 1e-3);
}

}  // namespace
}  // namespace pippin::kernels
