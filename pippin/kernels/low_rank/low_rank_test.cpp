#include "pippin/kernels/low_rank/low_rank.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "pippin/base/numbers/float16.h"
#include "pippin/kernels/dot/dot.h"

namespace pippin::kernels {
namespace {

// The change of y [m, n] by some of the ranks, in memory of its exact size.
struct LowRankCase {
  LowRankCase(WeightType weight_type, int64_t rows, int64_t columns, int64_t all_ranks)
      : type(weight_type), m(rows), n(columns), ranks(all_ranks) {
    std::mt19937 random(static_cast<uint32_t>(m * 1000 + n * 10 + ranks));
    std::normal_distribution<float> normal;
    t.resize(static_cast<size_t>(m * ranks));
    y.resize(static_cast<size_t>(m * n));
    values.resize(static_cast<size_t>(n * ranks));
    std::vector<std::byte> b(values.size() * static_cast<size_t>(bytes_per_weight(type)));
    for (float& value : t) value = normal(random);
    for (float& value : y) value = normal(random);
    for (size_t i = 0; i < values.size(); ++i) {
      const float value = normal(random);
      if (type == WeightType::F32) {
        values[i] = value;
        std::memcpy(b.data() + 4 * i, &value, 4);
        continue;
      }
      const float16 half = to_float16(value);
      const bfloat16 brain = to_bfloat16(value);
      values[i] = type == WeightType::F16 ? to_float(half) : to_float(brain);
      std::memcpy(b.data() + 2 * i, type == WeightType::F16 ? &half.bits : &brain.bits, 2);
    }
    panels = pack_low_rank(b.data(), type, n, ranks);
  }

  std::vector<float> run(const LowRankKernels& kernels, const std::vector<int32_t>& used,
                         int64_t split = 0) const {
    std::vector<float> sum = y;
    LowRankArgs args = {t.data(),   ranks,       panels.data(),
                        ranks,      used.data(), static_cast<int64_t>(used.size()),
                        sum.data(), n,           m,
                        0,          split};
    add_low_rank(kernels, type, args);
    args.begin = split;
    args.end = n;
    add_low_rank(kernels, type, args);
    return sum;
  }

  WeightType type;
  int64_t m, n, ranks;
  std::vector<float> t, y, values;
  std::vector<std::byte> panels;
};

std::vector<int32_t> all(int64_t ranks) {
  std::vector<int32_t> used(static_cast<size_t>(ranks));
  std::iota(used.begin(), used.end(), 0);
  return used;
}

constexpr WeightType kTypes[] = {WeightType::F32, WeightType::F16, WeightType::BF16};

TEST(LowRank, EqualsTheFormula) {
  for (const LowRankKernels* kernels : runnable(low_rank_kernels(), detect_cpu())) {
    for (const WeightType type : kTypes) {
      for (const int64_t m : {1, 2, 3, 7, 9, 19}) {
        for (const int64_t n : {1, 15, 16, 33, 100}) {
          for (const int64_t ranks : {1, 3, 16, 65}) {
            SCOPED_TRACE(std::string(kernels->name) + " " + std::to_string(m) + " x " +
                         std::to_string(n) + " x " + std::to_string(ranks));
            const LowRankCase one(type, m, n, ranks);
            const std::vector<float> found = one.run(*kernels, all(ranks));
            for (int64_t i = 0; i < m; ++i) {
              for (int64_t j = 0; j < n; ++j) {
                double sum = one.y[static_cast<size_t>(i * n + j)], size = std::abs(sum);
                for (int64_t r = 0; r < ranks; ++r) {
                  const double term = double{one.t[static_cast<size_t>(i * ranks + r)]} *
                                      double{one.values[static_cast<size_t>(j * ranks + r)]};
                  sum += term;
                  size += std::abs(term);
                }
                ASSERT_NEAR(found[static_cast<size_t>(i * n + j)], sum, 1e-6 * size);
              }
            }
          }
        }
      }
    }
  }
}

// Whatever the rows and columns of a call, and with or without ranks whose t is 0.
TEST(LowRank, KeepsEveryBit) {
  for (const LowRankKernels* kernels : runnable(low_rank_kernels(), detect_cpu())) {
    LowRankCase one(WeightType::F16, 13, 70, 24);
    const std::vector<int32_t> some = {2, 3, 4, 9, 20, 23};
    for (int64_t i = 0; i < one.m; ++i) {
      for (int64_t r = 0; r < one.ranks; ++r) {
        if (std::find(some.begin(), some.end(), r) == some.end()) {
          one.t[static_cast<size_t>(i * one.ranks + r)] = 0;
        }
      }
    }
    const std::vector<float> whole = one.run(*kernels, all(one.ranks));
    for (const int64_t split : {1, 16, 40, 69}) {
      EXPECT_EQ(one.run(*kernels, some, split), whole) << kernels->name << " " << split;
    }
    LowRankCase row = one;
    row.m = 1;
    for (int64_t i = 0; i < one.m; ++i) {
      row.t.assign(one.t.begin() + i * one.ranks, one.t.begin() + (i + 1) * one.ranks);
      row.y.assign(one.y.begin() + i * one.n, one.y.begin() + (i + 1) * one.n);
      const std::vector<float> expected(whole.begin() + i * one.n, whole.begin() + (i + 1) * one.n);
      EXPECT_EQ(row.run(*kernels, some), expected) << kernels->name << " row " << i;
    }
    EXPECT_EQ(one.run(*kernels, {}), one.y);
  }
}

}  // namespace
}  // namespace pippin::kernels
