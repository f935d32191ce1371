#include "pippin/coreml/strided.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "pippin/base/numbers/float16.h"

namespace pippin::coreml {
namespace {

using mil::DataType;

constexpr uint8_t kPoison = 0xC3;

// An array with space between and after its rows, filled with poison.
struct Sample {
  Elements elements;
  std::vector<std::byte> memory;

  Sample(DataType type, std::vector<int64_t> shape, std::vector<int64_t> strides) {
    int64_t last = 1;
    for (size_t axis = 0; axis < shape.size(); ++axis) last += (shape[axis] - 1) * strides[axis];
    memory.assign(static_cast<size_t>(last) * size(type), std::byte{kPoison});
    elements = {memory.data(), type, std::move(shape), std::move(strides)};
  }
  static size_t size(DataType type) { return static_cast<size_t>(mil::bit_width(type)) / 8; }

  int64_t count() const {
    int64_t count = 1;
    for (const int64_t size : elements.shape) count *= size;
    return count;
  }
  // The address of element i in row-major order, computed the simple way.
  std::byte* at(int64_t i) {
    int64_t offset = 0;
    for (size_t axis = elements.shape.size(); axis-- > 0;) {
      offset += i % elements.shape[axis] * elements.strides[axis];
      i /= elements.shape[axis];
    }
    return memory.data() + static_cast<size_t>(offset) * size(elements.type);
  }
  // Bytes outside of elements are unchanged.
  void expect_poison_between() {
    std::vector<bool> used(memory.size());
    for (int64_t i = 0; i < count(); ++i) {
      const auto begin = static_cast<size_t>(at(i) - memory.data());
      for (size_t k = 0; k < size(elements.type); ++k) used[begin + k] = true;
    }
    for (size_t i = 0; i < memory.size(); ++i) {
      EXPECT_TRUE(used[i] || memory[i] == std::byte{kPoison}) << "byte " << i;
    }
  }
};

std::vector<Sample> samples(DataType type) {
  std::vector<Sample> all;
  all.emplace_back(type, std::vector<int64_t>{1}, std::vector<int64_t>{1});
  all.emplace_back(type, std::vector<int64_t>{7}, std::vector<int64_t>{1});
  all.emplace_back(type, std::vector<int64_t>{7}, std::vector<int64_t>{3});
  all.emplace_back(type, std::vector<int64_t>{2, 3, 5}, std::vector<int64_t>{15, 5, 1});
  all.emplace_back(type, std::vector<int64_t>{2, 3, 5}, std::vector<int64_t>{96, 32, 1});
  all.emplace_back(type, std::vector<int64_t>{2, 3, 5}, std::vector<int64_t>{100, 32, 2});
  all.emplace_back(type, std::vector<int64_t>{2, 3, 5}, std::vector<int64_t>{1, 2, 6});
  all.emplace_back(type, std::vector<int64_t>{1, 3, 1, 1}, std::vector<int64_t>{64, 32, 32, 32});
  all.emplace_back(type, std::vector<int64_t>{1, 1, 4, 33}, std::vector<int64_t>{7, 9, 64, 1});
  std::mt19937 random(11);
  for (int i = 0; i < 40; ++i) {
    std::vector<int64_t> shape, strides;
    int64_t next = 1;
    for (size_t axis = 0; axis < 1 + i % 4U; ++axis) {
      shape.insert(shape.begin(), 1 + random() % 6);
      strides.insert(strides.begin(), next);
      next = next * shape.front() + random() % 3;
    }
    all.emplace_back(type, shape, strides);
  }
  return all;
}

const float kUgly[] = {0,
                       -0.0F,
                       1,
                       -1.5F,
                       65504,
                       65520,
                       1e30F,
                       -1e30F,
                       6e-8F,
                       1e-40F,
                       std::numeric_limits<float>::infinity(),
                       std::nanf("")};

TEST(Strided, FloatsComeAndGo) {
  for (const DataType type : {DataType::Float16, DataType::Float32, DataType::Float64}) {
    for (Sample& sample : samples(type)) {
      std::vector<float> given(static_cast<size_t>(sample.count()));
      for (size_t i = 0; i < given.size(); ++i) given[i] = kUgly[(i * 7) % std::size(kUgly)];
      from_plan(reinterpret_cast<const std::byte*>(given.data()), sample.elements);
      std::vector<float> back(given.size());
      to_plan(sample.elements, reinterpret_cast<std::byte*>(back.data()));
      for (size_t i = 0; i < given.size(); ++i) {
        float want = given[i], stored = 0;
        const std::byte* const place = sample.at(static_cast<int64_t>(i));
        if (type == DataType::Float16) {
          float16 half;
          std::memcpy(&half, place, sizeof(half));
          stored = to_float(half);
          want = to_float(to_float16(want));
        } else if (type == DataType::Float64) {
          double wide = 0;
          std::memcpy(&wide, place, sizeof(wide));
          stored = static_cast<float>(wide);
        } else {
          std::memcpy(&stored, place, sizeof(stored));
        }
        if (std::isnan(want)) {
          EXPECT_TRUE(std::isnan(stored) && std::isnan(back[i]));
        } else {
          EXPECT_EQ(stored, want);
          EXPECT_EQ(back[i], want);
        }
      }
      sample.expect_poison_between();
    }
  }
}

TEST(Strided, IntegersComeAndGo) {
  const int32_t ugly[] = {0, 1, -1, 127, 128, -128, -129, INT32_MAX, INT32_MIN};
  for (const DataType type : {DataType::Int32, DataType::Int8}) {
    for (Sample& sample : samples(type)) {
      std::vector<int32_t> given(static_cast<size_t>(sample.count()));
      for (size_t i = 0; i < given.size(); ++i) given[i] = ugly[(i * 5) % std::size(ugly)];
      from_plan(reinterpret_cast<const std::byte*>(given.data()), sample.elements);
      std::vector<int32_t> back(given.size());
      to_plan(sample.elements, reinterpret_cast<std::byte*>(back.data()));
      for (size_t i = 0; i < given.size(); ++i) {
        const int32_t want = type == DataType::Int8 ? std::clamp(given[i], -128, 127) : given[i];
        EXPECT_EQ(back[i], want);
      }
      sample.expect_poison_between();
    }
  }
}

TEST(Strided, BytesAreMovedAsTheyAre) {
  std::mt19937 random(5);
  for (const DataType type : {DataType::Float16, DataType::Float32, DataType::Int8}) {
    for (Sample& sample : samples(type)) {
      const size_t size = Sample::size(type);
      std::vector<std::byte> given(static_cast<size_t>(sample.count()) * size);
      for (std::byte& byte : given) byte = static_cast<std::byte>(random());
      unpack(given.data(), sample.elements);
      std::vector<std::byte> back(given.size());
      pack(sample.elements, back.data());
      EXPECT_EQ(back, given);
      for (int64_t i = 0; i < sample.count(); ++i) {
        EXPECT_EQ(std::memcmp(sample.at(i), given.data() + static_cast<size_t>(i) * size, size), 0);
      }
      sample.expect_poison_between();
    }
  }
}

TEST(Strided, PicturesAreRoundedAndTurned) {
  const std::vector<float> values = {-3,     0.4F,   254.6F, 300, 17, std::nanf(""),  // channel 0
                                     1,      2,      3,      4,   5,  6,              // 1
                                     100.5F, 101.5F, 0,      7,   8,  9};             // 2
  for (const mil::ColorSpace space : {mil::ColorSpace::Rgb, mil::ColorSpace::Bgr}) {
    Sample picture(DataType::UInt8, {2, 3, 4}, {64, 4, 1});
    to_picture(reinterpret_cast<const std::byte*>(values.data()), space, picture.elements);
    const size_t first = space == mil::ColorSpace::Rgb ? 2 : 0;
    const auto byte = [&](size_t y, size_t x, size_t c) {
      return std::to_integer<int>(picture.memory[y * 64 + x * 4 + c]);
    };
    EXPECT_EQ(byte(0, 0, first), 0);
    EXPECT_EQ(byte(0, 1, first), 0);
    EXPECT_EQ(byte(0, 2, first), 255);
    EXPECT_EQ(byte(1, 0, first), 255);
    EXPECT_EQ(byte(1, 1, first), 17);
    EXPECT_EQ(byte(1, 2, first), 0);
    EXPECT_EQ(byte(0, 0, 1), 1);
    EXPECT_EQ(byte(0, 0, 2 - first), 100);  // to even
    EXPECT_EQ(byte(0, 1, 2 - first), 102);
    EXPECT_EQ(byte(1, 2, 3), 255);
    picture.expect_poison_between();
    std::vector<float> back(values.size());
    from_picture(picture.elements, space, reinterpret_cast<std::byte*>(back.data()));
    EXPECT_EQ(back[4], 17);
    EXPECT_EQ(back[6], 1);
    EXPECT_EQ(back[13], 102);
  }
}

TEST(Strided, GrayPictures) {
  const std::vector<float> values = {0.25F, 1.5F, 255, 300};
  Sample bytes(DataType::UInt8, {2, 2, 1}, {64, 1, 1}),
      halves(DataType::Float16, {2, 2, 1}, {32, 1, 1});
  std::vector<float> back(4);
  to_picture(reinterpret_cast<const std::byte*>(values.data()), mil::ColorSpace::Grayscale,
             bytes.elements);
  from_picture(bytes.elements, mil::ColorSpace::Grayscale,
               reinterpret_cast<std::byte*>(back.data()));
  EXPECT_EQ(back, (std::vector<float>{0, 2, 255, 255}));
  to_picture(reinterpret_cast<const std::byte*>(values.data()), mil::ColorSpace::GrayscaleFloat16,
             halves.elements);
  from_picture(halves.elements, mil::ColorSpace::GrayscaleFloat16,
               reinterpret_cast<std::byte*>(back.data()));
  EXPECT_EQ(back, values);
  bytes.expect_poison_between();
  halves.expect_poison_between();
}

}  // namespace
}  // namespace pippin::coreml
