#include "pippin/kernels/affine_dot/affine_dot.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/base/numbers/float16.h"

namespace pippin::kernels {
namespace {

struct Case {
  int64_t n, k, group;
  int bits;
  WeightType type;
};

// A matrix of random codes; its memory ends exactly after the last code.
struct Weights {
  std::vector<uint8_t> codes;
  std::vector<uint16_t> halves[2];
  std::vector<float> floats[2];
  AffineMatrix matrix{};

  explicit Weights(const Case& c) {
    std::mt19937 random(17);
    codes.resize(static_cast<size_t>(c.n * c.k * c.bits / 8));
    for (uint8_t& byte : codes) byte = static_cast<uint8_t>(random());
    std::normal_distribution<float> normal(0, 0.1f);
    const auto count = static_cast<size_t>(c.n * c.k / c.group);
    for (int which = 0; which < 2; ++which) {
      for (size_t i = 0; i < count; ++i) {
        const float value = normal(random);
        floats[which].push_back(value);
        halves[which].push_back(c.type == WeightType::F16 ? to_float16(value).bits
                                                          : to_bfloat16(value).bits);
      }
    }
    const bool is_float = c.type == WeightType::F32;
    const auto data = [&](int which) {
      return is_float ? static_cast<const void*>(floats[which].data()) : halves[which].data();
    };
    matrix = {codes.data(), c.n, c.k, c.bits, c.group, data(0), data(1), c.type};
  }
};

std::vector<float> product(const AffineDotKernels& kernels, const AffineMatrix& w,
                           const std::vector<float>& x, int64_t m, int64_t split) {
  AffineRows form = affine_form(w, m);
  std::vector<float> memory(static_cast<size_t>(affine_floats(form)));
  prepare_affine_rows(kernels, w, x.data(), w.k, memory.data(), form);
  std::vector<float> y(static_cast<size_t>(m * w.n), -7);
  kernels.dot({&w, &form, y.data(), w.n, 0, split});
  kernels.dot({&w, &form, y.data(), w.n, split, w.n});
  return y;
}

TEST(AffineDot, KernelsAgreeWithTheReference) {
  const CpuFeatures cpu = detect_cpu();
  std::vector<Case> cases;
  for (const WeightType type : {WeightType::F32, WeightType::F16, WeightType::BF16}) {
    for (const int bits : {4, 8}) {
      for (const int64_t group : {32, 64, 96, 128}) {
        for (const int64_t groups : {1, 2, 3, 5, 17}) {
          cases.push_back({9, group * groups, group, bits, type});
        }
      }
    }
  }
  for (const AffineDotKernels* kernels : runnable(affine_dot_kernels(), cpu)) {
    for (const Case& c : cases) {
      const Weights weights(c);
      ASSERT_TRUE(can_affine_dot(weights.matrix));
      std::mt19937 random(3);
      std::normal_distribution<float> normal(0, 1);
      for (int64_t m = 1; m <= kMostAffineRows; ++m) {
        std::vector<float> x(static_cast<size_t>(m * c.k));
        for (float& value : x) value = normal(random);
        const std::vector<float> expected = product(affine_dot_scalar, weights.matrix, x, m, 4);
        const std::vector<float> y = product(*kernels, weights.matrix, x, m, 4);
        for (size_t i = 0; i < y.size(); ++i) {
          ASSERT_NEAR(y[i], expected[i], 1e-4 * std::sqrt(c.k) + 1e-5 * std::fabs(expected[i]))
              << kernels->name << " m " << m << " k " << c.k << " group " << c.group << " bits "
              << c.bits << " at " << i;
        }
        EXPECT_EQ(product(*kernels, weights.matrix, x, m, 8), y) << kernels->name;
      }
    }
  }
}

// Groups with numbers of very different sizes, outliers, numbers too small for a unit, and NaN.
TEST(AffineDot, UglyRows) {
  constexpr int64_t kColumns = 192;
  const Weights weights({5, kColumns, 64, 4, WeightType::F32});
  const float inf = std::numeric_limits<float>::infinity();
  std::mt19937 random(5);
  std::normal_distribution<float> normal(0, 1);
  for (const AffineDotKernels* kernels : runnable(affine_dot_kernels(), detect_cpu())) {
    for (const float ugly : {0.0f, 3e4f, 1e30f, 1e-30f, 1e-42f, inf, -inf, std::nanf("")}) {
      std::vector<float> x(2 * kColumns);
      for (float& value : x) value = normal(random);
      x[70] = ugly;
      for (size_t i = 128; i < 192; ++i) x[i] *= std::fabs(ugly) < 1 ? ugly : 1e-3f;
      const std::vector<float> y = product(*kernels, weights.matrix, x, 2, 4);
      for (int64_t i = 0; i < 2 * 5; ++i) {
        double expected = 0, size = 0;
        for (int64_t c = 0; c < kColumns; ++c) {
          const auto at = static_cast<size_t>(i % 5 * 3 + c / 64);
          const int code = weights.codes[static_cast<size_t>(i % 5 * 96 + c / 2)] >> (c % 2 * 4);
          const double scaled = static_cast<double>(weights.floats[0][at]) * (code & 15);
          const double bias = weights.floats[1][at];
          const double value = x[static_cast<size_t>(i / 5 * 192 + c)];
          expected += (scaled + bias) * value;
          size += (std::fabs(scaled) + std::fabs(bias)) * std::fabs(value);
        }
        const float found = y[static_cast<size_t>(i)];
        if (i < 5 && !std::isfinite(ugly)) {
          EXPECT_FALSE(std::isfinite(found)) << kernels->name << " with " << ugly << " at " << i;
        } else {
          EXPECT_NEAR(found, expected, 2e-6 * size) << kernels->name << " with " << ugly;
        }
      }
    }
  }
}

TEST(AffineDot, ExpandsCodesOfAnyWidth) {
  for (const AffineDotKernels* kernels : runnable(affine_dot_kernels(), detect_cpu())) {
    for (const int bits : {2, 3, 4, 5, 6, 8}) {
      const Case c{3, 96, 32, bits, WeightType::F32};
      const Weights weights(c);
      for (int64_t j = 0; j < c.n; ++j) {
        for (const auto& [begin, end] : {std::pair(0, 96), std::pair(32, 75), std::pair(5, 6)}) {
          std::vector<float> row(static_cast<size_t>(end - begin));
          kernels->expand(weights.matrix, j, begin, end, row.data());
          for (int64_t i = begin; i < end; ++i) {
            int code = 0;
            for (int b = 0; b < bits; ++b) {
              const int64_t bit = (j * 96 + i) * bits + b;
              code |= ((weights.codes[static_cast<size_t>(bit / 8)] >> (bit % 8)) & 1) << b;
            }
            const auto g = static_cast<size_t>(j * 3 + i / 32);
            EXPECT_NEAR(row[static_cast<size_t>(i - begin)],
                        static_cast<float>(code) * weights.floats[0][g] + weights.floats[1][g],
                        1e-5)
                << kernels->name << " bits " << bits << " at " << i;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace pippin::kernels
