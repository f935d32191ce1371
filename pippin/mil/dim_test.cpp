#include "pippin/mil/dim.h"

#include <algorithm>
#include <cmath>
#include <random>

#include <gtest/gtest.h>

namespace pippin::mil {
namespace {

TEST(Dim, DifferencesAndQuotientsSimplify) {
  const Dim q = Dim::symbol("q", 1, 2048), end = Dim::symbol("end", 1, 2048);
  const Dim past = end - q;
  EXPECT_EQ(past + q, end);
  EXPECT_EQ(floor_div(q * 8 * 64, Dim(512)), q);
  EXPECT_EQ(floor_div(q * 8 * 64, q * 64), Dim(8));
  EXPECT_EQ(floor_div(q * end * 6, end * 2), q * 3);
  EXPECT_EQ(mod(q * 4, Dim(2)), Dim(0));
  EXPECT_EQ(q - q, Dim(0));
  EXPECT_FALSE(q == end);
}

TEST(Dim, BoundsDecideComparisons) {
  const Dim q = Dim::symbol("q", 1, 16), end = Dim::symbol("end", 32, 64);
  EXPECT_EQ(known_equal(q, Dim(-1)), false);
  EXPECT_EQ(known_less(q, end), true);
  EXPECT_EQ(known_equal(q, Dim(3)), std::nullopt);
  EXPECT_EQ(minimum(q, end), q);
  EXPECT_EQ(maximum(q, end), end);
  EXPECT_EQ((end - q).lower(), 16);
  EXPECT_EQ((end - q).upper(), 63);
  EXPECT_EQ(Dim::symbol("one", 1, 1), Dim(1));
  EXPECT_EQ(Dim::symbol("big", 1, INT64_MAX).upper(), INT64_MAX);
  EXPECT_EQ((Dim::symbol("big", 1, INT64_MAX) * 4).upper(), INT64_MAX);
}

// Random expressions evaluate as plain integers do.
TEST(Dim, EvaluatesLikeIntegers) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::pair<Dim, int64_t>> pool;
    std::vector<std::pair<uint64_t, int64_t>> values;
    for (int i = 0; i < 3; ++i) {
      const int64_t value = 1 + static_cast<int64_t>(random() % 20);
      const Dim symbol = Dim::symbol("s" + std::to_string(i), 1, 20);
      values.emplace_back(symbol.symbols().at(0)->id, value);
      pool.emplace_back(symbol, value);
      pool.emplace_back(Dim(i), i);
    }
    const auto lookup = [&](const Dim::Atom& atom) {
      for (const auto& [id, value] : values) {
        if (id == atom.id) return value;
      }
      return int64_t{0};
    };
    for (int step = 0; step < 12; ++step) {
      const auto [a, x] = pool[random() % pool.size()];
      const auto [b, y] = pool[random() % pool.size()];
      if (std::abs(x) > 100000 || std::abs(y) > 100000) continue;
      switch (random() % 6) {
        case 0:
          pool.emplace_back(a + b, x + y);
          break;
        case 1:
          pool.emplace_back(a - b, x - y);
          break;
        case 2:
          pool.emplace_back(a * b, x * y);
          break;
        case 3:
          pool.emplace_back(minimum(a, b), std::min(x, y));
          break;
        case 4:
          pool.emplace_back(maximum(a, b), std::max(x, y));
          break;
        default:
          if (y == 0 || b == Dim(0)) break;
          pool.emplace_back(floor_div(a, b), (x - ((x % y) + y) % y) / y);
      }
      const auto& [dim, expected] = pool.back();
      EXPECT_EQ(dim.evaluate(lookup), expected) << dim.to_string();
      EXPECT_LE(dim.lower(), expected);
      EXPECT_GE(dim.upper(), expected);
    }
  }
}

}  // namespace
}  // namespace pippin::mil
