#include <algorithm>
#include <numeric>

#include "pippin/base/testing.h"
#include "pippin/mx/mx_testing.h"

namespace pippin::mx {
namespace {

// The elements of `a` that are combined into each element of the reduction over `axes`.
std::vector<std::vector<double>> groups(const array& a, const std::vector<int>& axes) {
  Shape kept = a.shape();
  for (const int axis : axes) kept[static_cast<size_t>(axis)] = 1;
  std::vector<std::vector<double>> result(static_cast<size_t>(num_elements(kept)));
  const std::vector<double> x = numbers(a);
  size_t i = 0;
  each_index(a.shape(),
             [&](const Shape& index) { result[place_of(kept, index)].push_back(x[i++]); });
  return result;
}

const std::vector<int> kAxes[] = {{0}, {1}, {2}, {0, 1}, {0, 2}, {1, 2}, {0, 1, 2}};

TEST(Reduce, AgreesOverAllAxesLayoutsAndTypes) {
  for (const Dtype dtype : kComputed) {
    const array a = ugly({3, 4, 5}, dtype, 7);
    for (const std::vector<int>& axes : kAxes) {
      std::vector<double> low, high, every, some, total;
      for (const std::vector<double>& group : groups(a, axes)) {
        const bool has_nan =
            std::any_of(group.begin(), group.end(), [](double x) { return std::isnan(x); });
        const double nan = std::nan("");
        low.push_back(has_nan ? nan : *std::min_element(group.begin(), group.end()));
        high.push_back(has_nan ? nan : *std::max_element(group.begin(), group.end()));
        every.push_back(std::all_of(group.begin(), group.end(), [](double x) { return x != 0; }));
        some.push_back(std::any_of(group.begin(), group.end(), [](double x) { return x != 0; }));
        total.push_back(std::accumulate(group.begin(), group.end(), 0.0));
      }
      for (const array& x : layouts(a)) {
        expect_numbers(min(x, axes), low, 0, "min");
        expect_numbers(max(x, axes), high, 0, "max");
        expect_numbers(all(x, axes), every, 0, "all");
        expect_numbers(any(x, axes), some, 0, "any");
        if (is_floating(dtype)) {
          for (double& value : total) value = rounded(value, dtype);
          expect_numbers(sum(x, axes), total, 2 * tolerance(dtype), "sum", 1e-2);
        }
      }
    }
  }
}

TEST(Reduce, SumsIntegersWithTheTypesOfMlx) {
  EXPECT_EQ(sum(ones({3}, bool_)).dtype(), int32);
  EXPECT_EQ(sum(ones({3}, uint8)).dtype(), uint32);
  EXPECT_EQ(sum(ones({3}, int64)).dtype(), int64);
  EXPECT_EQ(sum(full({300}, 255, uint8)).item<int>(), 76500);
  EXPECT_EQ(prod(array({3, 4, 5})).item<int>(), 60);
  EXPECT_EQ(sum(zeros({0, 3}), 0).to_vector<float>(), std::vector<float>(3, 0));
  EXPECT_EQ(prod(zeros({0})).item<float>(), 1);
  EXPECT_ERROR(max(zeros({0})), ErrorCode::InvalidArgument, "[max]");
  EXPECT_ERROR(sum(zeros({2}), 1), ErrorCode::InvalidArgument, "[sum] Axis 1");
  EXPECT_ERROR(sum(zeros({2, 2}), std::vector<int>{0, -2}), ErrorCode::InvalidArgument, "twice");
}

TEST(Reduce, SumsLongArraysExactlyEnough) {
  const array x = full({3'000'001}, 0.1f);
  EXPECT_NEAR(sum(x).item<float>(), 300000.1, 0.1);
  EXPECT_NEAR(mean(full({70'000}, 2.0f, float16)).item<float>(), 2, 1e-3);
  const array y = normal_array({257, 1031}, float32, 3);
  for (const int axis : {0, 1}) {
    std::vector<double> expected;
    for (const auto& group : groups(y, {axis})) {
      expected.push_back(std::accumulate(group.begin(), group.end(), 0.0));
    }
    expect_numbers(sum(y, axis), expected, 1e-5, "sum", 1e-4);
    expect_numbers(sum(transpose(y), 1 - axis), expected, 1e-5, "sum of the transpose", 1e-4);
  }
}

TEST(Reduce, KnowsStatistics) {
  const array x = normal_array({6, 7}, float32, 5);
  for (const int axis : {0, 1}) {
    std::vector<double> means, variances, medians, logs;
    for (std::vector<double> group : groups(x, {axis})) {
      const auto n = static_cast<double>(group.size());
      const double m = std::accumulate(group.begin(), group.end(), 0.0) / n;
      double v = 0, e = 0;
      for (const double value : group) {
        v += (value - m) * (value - m) / (n - 1);
        e += std::exp(value);
      }
      std::sort(group.begin(), group.end());
      const size_t half = group.size() / 2;
      means.push_back(m);
      variances.push_back(v);
      medians.push_back(group.size() % 2 == 1 ? group[half] : (group[half - 1] + group[half]) / 2);
      logs.push_back(std::log(e));
    }
    expect_numbers(mean(x, axis), means, 1e-5, "mean", 1e-6);
    expect_numbers(var(x, std::vector<int>{axis}, false, 1), variances, 1e-5, "var");
    expect_numbers(median(x, std::vector<int>{axis}), medians, 1e-6, "median");
    expect_numbers(logsumexp(x, axis), logs, 1e-5, "logsumexp");
  }
}

TEST(Reduce, FindsTheFirstOfEquals) {
  EXPECT_EQ(argmax(array({1, 3, 3, 2})).item<int>(), 1);
  EXPECT_EQ(argmin(array({2, 1, 1})).item<int>(), 1);
  EXPECT_EQ(argmax(array({1.0f, std::nanf(""), 3.0f})).item<int>(), 1);
  EXPECT_EQ(argmax(array({1})).dtype(), uint32);
  for (const Dtype dtype : {float16, int8, uint32, float32}) {
    const array a = ugly({5, 600}, dtype, 9);
    for (const array& x : layouts(a)) {
      const std::vector<int> found = argmax(x, 1).to_vector<int>();
      const std::vector<double> values = numbers(a);
      for (size_t row = 0; row < 5; ++row) {
        size_t best = 0;
        for (size_t i = 1; i < 600; ++i) {
          const double old = values[row * 600 + best], now = values[row * 600 + i];
          if (!std::isnan(old) && (std::isnan(now) || now > old)) best = i;
        }
        ASSERT_EQ(found[row], static_cast<int>(best)) << to_string(dtype);
      }
    }
  }
}

TEST(Softmax, AgreesOverAxesAndLayouts) {
  for (const Dtype dtype : {float32, float16, bfloat16, float64}) {
    const array a = normal_array({3, 4, 5}, dtype, 8);
    for (const std::vector<int>& axes : kAxes) {
      Shape kept = a.shape();
      for (const int axis : axes) kept[static_cast<size_t>(axis)] = 1;
      std::vector<double> totals;
      for (const auto& group : groups(a, axes)) {
        double total = 0;
        for (const double value : group) total += std::exp(value);
        totals.push_back(total);
      }
      const std::vector<double> values = numbers(a);
      std::vector<double> expected;
      each_index(a.shape(), [&](const Shape& index) {
        expected.push_back(std::exp(values[place_of(a.shape(), index)]) /
                           totals[place_of(kept, index)]);
      });
      for (const array& x : layouts(a)) {
        expect_numbers(softmax(x, axes), expected, tolerance(dtype), "softmax", 1e-6);
      }
    }
  }
  EXPECT_EQ(softmax(array({1000.0f, 0.0f}), 0).to_vector<float>(), std::vector<float>({1, 0}));
}

TEST(Scan, AgreesInBothDirections) {
  for (const Dtype dtype : {int32, float32, float16, uint8}) {
    const array a = astype(multiply(normal_array({3, 5, 4}, float32, 4), array(4.0f)), dtype);
    for (int axis = 0; axis < 3; ++axis) {
      for (const bool reverse : {false, true}) {
        for (const bool inclusive : {false, true}) {
          const std::vector<double> x = numbers(a);
          std::vector<double> expected(x.size());
          each_index(a.shape(), [&](const Shape& index) {
            double total = 0;
            Shape at = index;
            for (int64_t i = 0; i < a.shape(axis); ++i) {
              const int64_t here = index[static_cast<size_t>(axis)];
              at[static_cast<size_t>(axis)] = i;
              const bool counts = reverse ? i > here : i < here;
              if (counts || (inclusive && i == here)) total += x[place_of(a.shape(), at)];
            }
            expected[place_of(a.shape(), index)] = rounded(total, dtype == uint8 ? int64 : dtype);
          });
          if (dtype == uint8) {
            for (double& value : expected) value = std::fmod(value, 256);
          }
          for (const array& layout : layouts(a)) {
            expect_numbers(cumsum(layout, axis, reverse, inclusive), expected, tolerance(dtype),
                           "cumsum", dtype == float16 ? 1e-2 : 1e-5);
          }
        }
      }
    }
  }
  EXPECT_EQ(cummax(array({1, 3, 2, 5})).to_vector<int>(), std::vector<int>({1, 3, 3, 5}));
  EXPECT_EQ(cumprod(array({1, 2, 3}), 0, true).to_vector<int>(), std::vector<int>({6, 6, 3}));
  expect_numbers(logcumsumexp(array({0.0f, 0.0f, 0.0f})), {0, std::log(2.0), std::log(3.0)}, 1e-6,
                 "logcumsumexp", 1e-7);
  EXPECT_EQ(diff(array({1, 4, 9, 16}), 2).to_vector<int>(), std::vector<int>({2, 2}));
}

TEST(Sort, OrdersRowsOfAllTypes) {
  for (const Dtype dtype : kComputed) {
    const array a = ugly({4, 9}, dtype, 6);
    for (const array& x : layouts(a)) {
      const array sorted = sort(x, 1);
      const array order = argsort(x, 1);
      EXPECT_EQ(order.dtype(), uint32);
      std::vector<double> expected = numbers(a);
      const auto before = [](double p, double q) {
        return p < q || (std::isnan(q) && !std::isnan(p));
      };
      for (size_t row = 0; row < 4; ++row) {
        std::stable_sort(expected.begin() + static_cast<ptrdiff_t>(row * 9),
                         expected.begin() + static_cast<ptrdiff_t>(row * 9 + 9), before);
      }
      expect_numbers(sorted, expected, 0, "sort");
      expect_numbers(take_along_axis(x, order, 1), expected, 0, "argsort");
      const array parted = partition(x, 4, 1);
      const std::vector<double> found = numbers(parted);
      for (size_t row = 0; row < 4; ++row) {
        const double pivot = expected[row * 9 + 4];
        EXPECT_TRUE(found[row * 9 + 4] == pivot ||
                    (std::isnan(pivot) && std::isnan(found[row * 9 + 4])));
        for (size_t i = 0; i < 4; ++i) EXPECT_FALSE(before(pivot, found[row * 9 + i]));
      }
    }
  }
  EXPECT_EQ(argsort(array({2, 1, 2, 1})).to_vector<int>(), std::vector<int>({1, 3, 0, 2}));
  EXPECT_EQ(sum(topk(array({5, 1, 4, 2}), 2)).item<int>(), 9);
  EXPECT_EQ(searchsorted(array({1, 3, 3, 5}), array({3, 0, 9})).to_vector<int>(),
            std::vector<int>({1, 0, 4}));
  EXPECT_EQ(searchsorted(array({1, 3, 3, 5}), array({3}), "right").item<int>(), 3);
  EXPECT_ERROR(topk(array({1, 2}), 3), ErrorCode::InvalidArgument, "[topk]");
}

// Rows that are sorted by bytes, and parted by their largest elements.
TEST(Sort, OrdersLongRowsStably) {
  constexpr int64_t kSize = 3000;
  for (const Dtype dtype : kComputed) {
    const array x = ugly({kSize}, dtype, 7);
    const std::vector<double> from = numbers(x);
    std::vector<int64_t> expected(from.size());
    std::iota(expected.begin(), expected.end(), 0);
    std::stable_sort(expected.begin(), expected.end(), [&](int64_t p, int64_t q) {
      const double a = from[static_cast<size_t>(p)], b = from[static_cast<size_t>(q)];
      return a < b || (std::isnan(b) && !std::isnan(a));
    });
    if (size_of(dtype) < 8) {  // doubles distinguish them all
      EXPECT_EQ(argsort(x).to_vector<int64_t>(), expected) << to_string(dtype);
    }
    const std::vector<double> sorted = numbers(sort(x));
    for (const int64_t kth : {kSize - 1, kSize - 7, kSize / 2, int64_t{0}}) {
      const std::vector<double> parted = numbers(partition(x, static_cast<int>(kth)));
      const auto same = [](double a, double b) { return a == b || (a != a && b != b); };
      EXPECT_PRED2(same, parted[static_cast<size_t>(kth)], sorted[static_cast<size_t>(kth)]);
      std::vector<int64_t> places = argpartition(x, static_cast<int>(kth)).to_vector<int64_t>();
      EXPECT_PRED2(same, from[static_cast<size_t>(places[static_cast<size_t>(kth)])],
                   sorted[static_cast<size_t>(kth)]);
      // Equal elements keep their order.
      if (size_of(dtype) < 8) {
        EXPECT_EQ(places[static_cast<size_t>(kth)], expected[static_cast<size_t>(kth)]);
      }
      std::sort(places.begin(), places.end());
      for (int64_t i = 0; i < kSize; ++i) ASSERT_EQ(places[static_cast<size_t>(i)], i);
    }
  }
}

}  // namespace
}  // namespace pippin::mx
