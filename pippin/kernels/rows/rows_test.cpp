#include "pippin/kernels/rows/rows.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace pippin::kernels {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr int64_t kSizes[] = {1, 2, 3, 7, 8, 15, 16, 17, 30, 64, 65, 127, 1000, 2049};

std::vector<const RowsKernels*> tables_here() {
  return runnable(rows_kernels(), detect_cpu());
}

std::vector<float> normal(int64_t n, uint32_t seed, float scale = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<float> distribution(0.1f, scale);
  std::vector<float> values(static_cast<size_t>(n));
  for (float& value : values) value = distribution(random);
  return values;
}

// Runs the same rows through the table under test (in place or not) and through the reference.
class Rows : public testing::TestWithParam<const RowsKernels*> {
 protected:
  template <typename Call>
  void compare(int64_t m, int64_t n, const std::vector<float>& x, float absolute, Call call,
               bool also_in_place = true) {
    const int64_t stride = n + 3;
    for (const bool in_place : {false, true}) {
      if (in_place && !also_in_place) continue;
      std::vector<float> from(static_cast<size_t>(m * stride), -77.0f);
      for (int64_t i = 0; i < m; ++i) {
        std::copy_n(&x[static_cast<size_t>(i * n)], n, &from[static_cast<size_t>(i * stride)]);
      }
      std::vector<float> y(from.size(), -77.0f), expected(y);
      call(rows_scalar, RowsArgs{from.data(), stride, expected.data(), stride, m, n});
      float* to = in_place ? from.data() : y.data();
      call(*GetParam(), RowsArgs{from.data(), stride, to, stride, m, n});
      for (size_t i = 0; i < expected.size(); ++i) {
        if (std::isnan(expected[i])) {
          EXPECT_TRUE(std::isnan(to[i])) << "n " << n << " at " << i << ": " << to[i];
        } else if (std::isinf(expected[i])) {
          EXPECT_EQ(to[i], expected[i]) << "n " << n << " at " << i;
        } else {
          EXPECT_NEAR(to[i], expected[i], std::fabs(expected[i]) * 3e-6f + absolute)
              << "n " << n << " at " << i;
        }
      }
    }
  }
};

TEST_P(Rows, Norms) {
  for (const int64_t n : kSizes) {
    const std::vector<float> x = normal(3 * n, 1, 4), gamma = normal(n, 2), beta = normal(n, 3);
    for (const float* g : {gamma.data(), static_cast<const float*>(nullptr)}) {
      compare(3, n, x, 1e-30f, [&](const RowsKernels& table, const RowsArgs& args) {
        table.rms_norm(args, g, 1e-5f);
      });
      for (const float* b : {beta.data(), static_cast<const float*>(nullptr)}) {
        compare(3, n, x, 2e-5f, [&](const RowsKernels& table, const RowsArgs& args) {
          table.layer_norm(args, g, b, 1e-5f);
        });
      }
    }
  }
}

TEST_P(Rows, NormsOfExtremes) {
  // A large mean, all zeros, and NaN.
  for (const float offset : {1000.0f, 0.0f, NAN}) {
    std::vector<float> x = offset == 0 ? std::vector<float>(100, 0) : normal(100, 1);
    for (float& value : x) value += offset;
    compare(1, 100, x, 3e-4f, [](const RowsKernels& table, const RowsArgs& args) {
      table.layer_norm(args, nullptr, nullptr, 1e-5f);
    });
    compare(1, 100, x, 1e-6f, [](const RowsKernels& table, const RowsArgs& args) {
      table.rms_norm(args, nullptr, 1e-6f);
    });
  }
}

TEST_P(Rows, Softmax) {
  const auto softmax = [](const RowsKernels& table, const RowsArgs& args) { table.softmax(args); };
  for (const int64_t n : kSizes) compare(3, n, normal(3 * n, 4, 9), 1e-30f, softmax);
  for (const int64_t n : {5, 16, 37}) {
    std::vector<float> x = normal(6 * n, 5);
    const auto at = [&](int64_t row, int64_t i) -> float& {
      return x[static_cast<size_t>(row * n + i)];
    };
    at(0, n - 1) = -kInf;
    for (int64_t i = 0; i < n; ++i) at(1, i) = -kInf;  // NaN
    at(2, 2) = kInf;
    at(3, n - 1) = NAN;
    for (int64_t i = 1; i < n; ++i) at(4, i) = -kInf;  // one key: exactly 1
    for (int64_t i = 0; i < n; ++i) at(5, i) = i == 0 ? 3e38f : -3e38f;
    // The reference turns +inf into exp(-inf) = 0 and NaN; only the presence of NaN matters.
    compare(1, n, {x.begin(), x.begin() + n}, 1e-30f, softmax);
    compare(1, n, {x.begin() + n, x.begin() + 2 * n}, 0, softmax);
    compare(1, n, {x.begin() + 2 * n, x.begin() + 3 * n}, 0, softmax);
    compare(1, n, {x.begin() + 3 * n, x.begin() + 4 * n}, 0, softmax);
    compare(2, n, {x.begin() + 4 * n, x.end()}, 0, softmax);
  }
}

TEST_P(Rows, Reductions) {
  for (int op = 0; op < kNumReduceOps; ++op) {
    const auto reduce = [op](const RowsKernels& table, const RowsArgs& args) {
      table.reduce(static_cast<ReduceOp>(op), args);
    };
    for (const int64_t n : kSizes) compare(3, n, normal(3 * n, 6, 5), 1e-4f, reduce, false);
    for (const float extreme : {kInf, -kInf, NAN, 3e38f}) {
      for (const size_t place : {size_t{0}, size_t{18}, size_t{70}}) {
        if (extreme == 3e38f && op >= static_cast<int>(ReduceOp::SumOfSquares)) continue;
        std::vector<float> x = normal(71, 7);
        x[place] = extreme;
        compare(1, 71, x, 1e-4f, reduce, false);
      }
    }
    compare(1, 40, std::vector<float>(40, -kInf), 0, reduce, false);
  }
}

TEST_P(Rows, Gated) {
  for (int op = 0; op < kNumGateOps; ++op) {
    // In the tails of the gelus an exponential multiplies the rounding of its argument by its size.
    const bool gelu =
        op >= static_cast<int>(GateOp::Gelu) && op <= static_cast<int>(GateOp::GeluSigmoid);
    const float absolute = gelu ? 2e-8f : 1e-37f;
    for (const int64_t n : kSizes) {
      std::vector<float> x = normal(3 * n, 8, 6);
      if (n > 8) x[1] = -kInf, x[2] = kInf, x[3] = NAN, x[4] = -200, x[5] = 1e-40f, x[6] = 3e38f;
      const std::vector<float> up = normal(3 * (n + 1), 9);
      compare(3, n, x, absolute, [&](const RowsKernels& table, const RowsArgs& args) {
        table.gated(static_cast<GateOp>(op), args, up.data(), n + 1);
      });
    }
  }
}

TEST_P(Rows, Rotary) {
  for (const int64_t n : {2, 4, 6, 16, 32, 34, 64, 80, 128}) {
    const std::vector<float> x = normal(3 * n, 10), cos = normal(3 * n, 11),
                             sin = normal(3 * n, 12);
    for (const int64_t stride : {n, int64_t{0}}) {
      for (const bool half : {false, true}) {
        const RotaryAngles angles = {cos.data(), sin.data(), stride, half};
        compare(3, n, x, 2e-6f, [&](const RowsKernels& table, const RowsArgs& args) {
          table.rotary(args, angles);
        });
        compare(3, n, x, 2e-6f, [&](const RowsKernels& table, const RowsArgs& args) {
          table.rotary_pairs(args, angles);
        });
      }
    }
  }
}

TEST_P(Rows, RotaryPairsAreRotaryInAnotherOrder) {
  constexpr int64_t kSize = 10;
  const std::vector<float> x = normal(kSize, 13), cos = normal(kSize, 14), sin = normal(kSize, 15);
  std::vector<float> turns(kSize), y(kSize), expected(kSize);
  for (size_t i = 0; i < kSize / 2; ++i) turns[2 * i] = x[i], turns[2 * i + 1] = x[kSize / 2 + i];
  const RotaryAngles angles = {cos.data(), sin.data(), 0, /*half=*/true};
  GetParam()->rotary({x.data(), kSize, expected.data(), kSize, 1, kSize}, angles);
  GetParam()->rotary_pairs({turns.data(), kSize, y.data(), kSize, 1, kSize}, angles);
  for (size_t i = 0; i < kSize / 2; ++i) {
    EXPECT_NEAR(y[2 * i], expected[i], 2e-6f);
    EXPECT_NEAR(y[2 * i + 1], expected[kSize / 2 + i], 2e-6f);
  }
}

INSTANTIATE_TEST_SUITE_P(Tables, Rows, testing::ValuesIn(tables_here()),
                         [](const auto& test) { return std::string(test.param->name); });

}  // namespace
}  // namespace pippin::kernels
