// For tests: random and ugly arrays in many layouts, and simple but slow access to every element.
#pragma once

#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/mx/mx.h"

namespace pippin::mx {

inline constexpr Dtype kComputed[] = {bool_, uint8, uint16,  uint32,  uint64,  int8,    int16,
                                      int32, int64, float16, float32, float64, bfloat16};

// Edge cases, then random numbers. For integers, the bounds.
inline array ugly(const Shape& shape, Dtype dtype, uint32_t seed) {
  std::mt19937 random(seed);
  const int64_t count = num_elements(shape);
  if (is_floating(dtype)) {
    const double inf = std::numeric_limits<double>::infinity();
    const double specials[] = {0.0, -0.0, inf, -inf, std::nan(""), 1, -1, 0.5, 1e-3, 65504, -3};
    std::vector<double> values;
    std::normal_distribution<double> normal(0, 3);
    for (int64_t i = 0; i < count; ++i) {
      values.push_back(random() % 4 == 0 ? specials[random() % std::size(specials)]
                                         : normal(random));
    }
    return array(values.data(), float64, shape, dtype);
  }
  std::vector<int64_t> values;
  for (int64_t i = 0; i < count; ++i) {
    int64_t value = static_cast<int64_t>(random() % 21) - 10;
    if (dtype != bool_ && random() % 5 == 0) {
      const IntegerInfo info = iinfo(dtype);
      value = random() % 2 == 0 ? info.min : static_cast<int64_t>(info.max);
    }
    values.push_back(value);
  }
  return array(values.data(), int64, shape, dtype);
}

inline array normal_array(const Shape& shape, Dtype dtype, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0, 1);
  std::vector<double> values(static_cast<size_t>(num_elements(shape)));
  for (double& value : values) value = normal(random);
  return array(values.data(), float64, shape, dtype);
}

// The integers from 0 on.
inline array counted(const Shape& shape) {
  return reshape(arange(0, static_cast<double>(num_elements(shape)), 1, int32), shape);
}

// The same elements in other layouts: unchanged, transposed, with negative strides, as part of a
// larger array.
inline std::vector<array> layouts(const array& a) {
  std::vector<array> result = {a};
  if (a.ndim() == 0) return result;
  std::vector<int> turned(a.ndim());
  for (size_t i = 0; i < a.ndim(); ++i) turned[i] = static_cast<int>(a.ndim() - 1 - i);
  result.push_back(transpose(contiguous(transpose(a, turned)), turned));
  result.push_back(flip(contiguous(flip(a))));
  std::vector<std::pair<int, int>> widths(a.ndim(), {1, 2});
  Shape start(a.ndim(), 1);
  Shape stop = a.shape();
  for (int64_t& size : stop) size += 1;
  result.push_back(slice(pad(a, widths), start, stop));
  eval(result);
  return result;
}

// Row-major elements as doubles; integers as exactly as doubles allow.
inline std::vector<double> numbers(const array& a) {
  return a.to_vector<double>();
}

inline void expect_numbers(const array& a, const std::vector<double>& expected, double relative,
                           const std::string& what, double absolute = 0) {
  const std::vector<double> found = numbers(a);
  ASSERT_EQ(found.size(), expected.size()) << what;
  for (size_t i = 0; i < found.size(); ++i) {
    if (std::isnan(expected[i])) {
      ASSERT_TRUE(std::isnan(found[i])) << what << " at " << i << ": " << found[i];
    } else if (std::isinf(expected[i]) || relative == 0) {
      ASSERT_EQ(found[i], expected[i]) << what << " at " << i;
    } else {
      ASSERT_NEAR(found[i], expected[i], std::fabs(expected[i]) * relative + absolute)
          << what << " at " << i;
    }
  }
}

// The value rounded to the type.
inline double rounded(double value, Dtype dtype) {
  return array(value, dtype).item<double>();
}

inline double tolerance(Dtype dtype) {
  return dtype == float16 ? 2e-3 : dtype == bfloat16 ? 1.6e-2 : dtype == float64 ? 1e-12 : 5e-6;
}

// Calls visit for every index of the shape, in row-major order.
inline void each_index(const Shape& shape, const std::function<void(const Shape&)>& visit) {
  Shape index(shape.size(), 0);
  for (int64_t i = 0; i < num_elements(shape); ++i) {
    visit(index);
    for (size_t axis = shape.size(); axis-- > 0;) {
      if (++index[axis] < shape[axis]) break;
      index[axis] = 0;
    }
  }
}
// The row-major position of an index; sizes of 1 are broadcast.
inline size_t place_of(const Shape& shape, const Shape& index) {
  int64_t place = 0;
  const size_t ahead = index.size() - shape.size();
  for (size_t i = 0; i < shape.size(); ++i) {
    place = place * shape[i] + (shape[i] == 1 ? 0 : index[ahead + i]);
  }
  return static_cast<size_t>(place);
}

}  // namespace pippin::mx
