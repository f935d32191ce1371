#include "pippin/kernels/dot/dot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/base/numbers/float16.h"
#include "pippin/base/threads/thread_pool.h"

namespace pippin::kernels {
namespace {

float weight_value(WeightType type, const std::vector<std::byte>& w, int64_t index) {
  const std::byte* p = w.data() + index * bytes_per_weight(type);
  if (type == WeightType::F32) {
    float value;
    std::memcpy(&value, p, sizeof(value));
    return value;
  }
  uint16_t bits;
  std::memcpy(&bits, p, sizeof(bits));
  return type == WeightType::F16 ? to_float(float16{bits}) : to_float(bfloat16{bits});
}

void set_weight(WeightType type, std::vector<std::byte>& w, int64_t index, float value) {
  std::byte* p = w.data() + index * bytes_per_weight(type);
  if (type == WeightType::F32) {
    std::memcpy(p, &value, sizeof(value));
  } else {
    const uint16_t bits =
        type == WeightType::F16 ? to_float16(value).bits : to_bfloat16(value).bits;
    std::memcpy(p, &bits, sizeof(bits));
  }
}

// A product in memory of its exact size, so that a sanitizer detects every access outside.
struct Product {
  Product(WeightType weight_type, int64_t rows, int64_t columns, int64_t length, bool with_bias,
          int64_t padding, uint32_t seed)
      : type(weight_type),
        m(rows),
        n(columns),
        k(length),
        x_stride(k + padding),
        w_stride(k + padding),
        y_stride(n + padding) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    x.resize(static_cast<size_t>(std::max<int64_t>(0, (m - 1) * x_stride + k)));
    w.resize(
        static_cast<size_t>(std::max<int64_t>(0, (n - 1) * w_stride + k) * bytes_per_weight(type)));
    y.assign(static_cast<size_t>(std::max<int64_t>(0, (m - 1) * y_stride + n)), kUntouched);
    for (float& value : x) value = normal(random);
    const int64_t weights = static_cast<int64_t>(w.size()) / bytes_per_weight(type);
    for (int64_t i = 0; i < weights; ++i) set_weight(type, w, i, normal(random));
    if (with_bias) bias.resize(static_cast<size_t>(n));
    for (float& value : bias) value = normal(random);
  }

  DotArgs args() {
    return {x.data(), x_stride, w.data(), w_stride, bias.empty() ? nullptr : bias.data(),
            y.data(), y_stride, m,        n,        k};
  }

  void check() const {
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        double sum = 0;
        double magnitude = 0;
        for (int64_t l = 0; l < k; ++l) {
          const double product = double{x[static_cast<size_t>(i * x_stride + l)]} *
                                 double{weight_value(type, w, j * w_stride + l)};
          sum += product;
          magnitude += std::fabs(product);
        }
        if (!bias.empty()) sum += double{bias[static_cast<size_t>(j)]};
        const float result = y[static_cast<size_t>(i * y_stride + j)];
        const double bound = 1e-6 * (magnitude + std::fabs(sum)) + 1e-30;
        ASSERT_NEAR(result, sum, bound) << "row " << i << " column " << j;
      }
    }
    for (size_t i = 0; i < y.size(); ++i) {
      if (static_cast<int64_t>(i) % y_stride < n) continue;
      ASSERT_EQ(y[i], kUntouched) << "at " << i;
    }
  }

  static constexpr float kUntouched = -12345.0f;
  WeightType type;
  int64_t m, n, k, x_stride, w_stride, y_stride;
  std::vector<float> x, bias, y;
  std::vector<std::byte> w;
};

std::vector<DotKernel> kernels_here() {
  std::vector<DotKernel> kernels;
  for (const DotKernel& kernel : dot_kernels()) {
    if (detect_cpu().*kernel.needs) kernels.push_back(kernel);
  }
  return kernels;
}

// dot_many_rows() with memory of its exact size; checks that each element is finished once.
void many_rows(const DotKernel& kernel, const DotArgs& args) {
  std::vector<float> packed(static_cast<size_t>(packed_floats(kernel, args.n, args.k)));
  std::vector<int> finished(static_cast<size_t>(args.m * args.n));
  dot_many_rows(kernel, args, packed.data(), [&](Range rows, Range columns) {
    for (int64_t i = rows.begin; i < rows.end; ++i) {
      for (int64_t j = columns.begin; j < columns.end; ++j) {
        ++finished[static_cast<size_t>(i * args.n + j)];
      }
    }
  });
  EXPECT_EQ(std::count(finished.begin(), finished.end(), 1), args.m * args.n);
}

class Dot : public testing::TestWithParam<DotKernel> {};

TEST_P(Dot, AgreesWithTheReferenceOnOddSizes) {
  const DotKernel& kernel = GetParam();
  uint32_t seed = 1;
  for (const int64_t m : {1, 2, 3, 4, 5, 6, 7, 8, 13, 100}) {
    for (const int64_t n : {1, 3, 4, 7, 16, 33}) {
      for (const int64_t k : {1, 7, 8, 15, 16, 17, 31, 64, 129, 1023, 1025, 2100}) {
        if (m * n * k > 400000) continue;
        Product product(kernel.weight, m, n, k, seed % 2 == 0, seed % 3, seed);
        SCOPED_TRACE(testing::Message() << "m " << m << " n " << n << " k " << k);
        kernel.function(product.args());
        product.check();
        std::fill(product.y.begin(), product.y.end(), Product::kUntouched);
        many_rows(kernel, product.args());
        product.check();
        if (HasFatalFailure()) return;
        ++seed;
      }
    }
  }
}

TEST_P(Dot, EmptySizes) {
  const DotKernel& kernel = GetParam();
  for (const auto [m, n, k] : {std::array{0, 3, 5}, {3, 0, 5}, {1, 5, 0}, {9, 5, 0}}) {
    Product product(kernel.weight, m, n, k, true, 1, 1);
    kernel.function(product.args());
    product.check();
    std::fill(product.y.begin(), product.y.end(), Product::kUntouched);
    many_rows(kernel, product.args());
    product.check();
  }
}

// Several pieces of columns, as for long sums, and of rows.
TEST_P(Dot, ManyRowsInPieces) {
  const DotKernel& kernel = GetParam();
  if (kernel.needs == &CpuFeatures::scalar) GTEST_SKIP() << "takes all in one way";
  for (const auto [m, n, k] : {std::array{97, 50, 2700}, {9, 35, 8200}}) {
    Product product(kernel.weight, m, n, k, true, 1, 5);
    many_rows(kernel, product.args());
    product.check();
  }
}

TEST_P(Dot, AnyAlignmentOfElements) {
  const DotKernel& kernel = GetParam();
  Product product(kernel.weight, 2, 9, 37, false, 0, 7);
  for (int shift = 0; shift < 4; ++shift) {
    std::vector<std::byte> moved(product.w.size() + 16);
    const size_t offset = static_cast<size_t>(shift * bytes_per_weight(kernel.weight));
    std::memcpy(moved.data() + offset, product.w.data(), product.w.size());
    DotArgs args = product.args();
    args.w = moved.data() + offset;
    kernel.function(args);
    product.check();
    many_rows(kernel, args);
    product.check();
  }
}

// W packed once for all columns, and multiplied in parts.
TEST_P(Dot, ManyRowsOfPackedWeights) {
  const DotKernel& kernel = GetParam();
  if (!packs(kernel)) GTEST_SKIP() << "reads weights where they lie";
  for (const auto [m, n, k] : {std::array{8, 1, 1}, {49, 77, 768}, {97, 150, 2700}, {9, 64, 0}}) {
    Product product(kernel.weight, m, n, k, true, 3, 11);
    const DotArgs args = product.args();
    std::vector<float> packed(static_cast<size_t>(all_packed_floats(kernel, n, k)));
    pack(kernel, args, packed.data());
    for (int64_t first = 0; first < n; first += 2 * kernel.n_grain) {
      const int64_t end = std::min<int64_t>(n, first + 2 * kernel.n_grain);
      DotArgs part = dot_columns(args, kernel.weight, first, end);
      part.w = nullptr;
      dot_many_rows(
          kernel, part, packed.data() + first * k, [](Range, Range) {}, true);
    }
    product.check();
    Product other(kernel.weight, m, n, k, true, 3, 11);
    many_rows(kernel, other.args());
    EXPECT_EQ(other.y, product.y);
  }
}

// The promise in dot.h.
TEST_P(Dot, BitsDoNotDependOnRowsOrThreads) {
  const DotKernel& kernel = GetParam();
  for (const int64_t k : {40, 1000, 2600}) {
    Product whole(kernel.weight, 103, 45, k, true, 3, 11);
    kernel.function(whole.args());
    Product part(kernel.weight, 103, 45, k, true, 3, 11);
    for (const int64_t m : {1, 2, 3, 4, 5, 6, 7, 12, 31, 97}) {
      for (const int64_t first_row : {0, 5}) {
        std::fill(part.y.begin(), part.y.end(), std::nanf(""));
        DotArgs args = part.args();
        args.x += first_row * args.x_stride;
        args.y += first_row * args.y_stride;
        args.m = m;
        ThreadPool pool(m % 3 + 1);
        dot(pool, kernel, args);
        for (int64_t i = first_row; i < first_row + m; ++i) {
          const size_t at = static_cast<size_t>(i * args.y_stride);
          ASSERT_EQ(std::memcmp(&part.y[at], &whole.y[at], sizeof(float) * 45), 0)
              << "m " << m << " k " << k << " row " << i;
        }
      }
    }
  }
}

TEST_P(Dot, BitsOfManyRowsDoNotDependOnRowsOrColumns) {
  const DotKernel& kernel = GetParam();
  for (const int64_t k : {40, 1000, 2600}) {
    Product whole(kernel.weight, 103, 45, k, true, 3, 11);
    many_rows(kernel, whole.args());
    Product part(kernel.weight, 103, 45, k, true, 3, 11);
    for (const int64_t m : {1, 2, 5, 6, 7, 11, 12, 13, 31, 97}) {
      std::fill(part.y.begin(), part.y.end(), std::nanf(""));
      DotArgs args = part.args();
      args.x += 5 * args.x_stride;
      args.y += 5 * args.y_stride;
      args.m = m;
      many_rows(kernel, dot_columns(args, kernel.weight, 0, kernel.n_grain));
      many_rows(kernel, dot_columns(args, kernel.weight, kernel.n_grain, args.n));
      for (int64_t i = 5; i < 5 + m; ++i) {
        const size_t at = static_cast<size_t>(i * args.y_stride);
        ASSERT_EQ(std::memcmp(&part.y[at], &whole.y[at], sizeof(float) * 45), 0)
            << "m " << m << " k " << k << " row " << i;
      }
    }
  }
}

TEST_P(Dot, ExtremeValuesFollowIeee) {
  const DotKernel& kernel = GetParam();
  const float inf = std::numeric_limits<float>::infinity();
  for (const int64_t m : {1, 9}) {
    Product product(kernel.weight, m, 6, 21, false, 0, 3);
    for (int64_t j = 0; j < 6; ++j) {
      for (int64_t l = 0; l < 21; ++l) set_weight(kernel.weight, product.w, j * 21 + l, 1);
    }
    for (float& value : product.x) value = 1;
    set_weight(kernel.weight, product.w, 0 * 21 + 20, inf);
    set_weight(kernel.weight, product.w, 1 * 21 + 3, std::nanf(""));
    set_weight(kernel.weight, product.w, 2 * 21 + 0, inf);
    set_weight(kernel.weight, product.w, 2 * 21 + 19, -inf);
    set_weight(kernel.weight, product.w, 3 * 21 + 5, 0x1p-24f);  // subnormal in fp16
    set_weight(kernel.weight, product.w, 4 * 21 + 5, 60000);
    for (const bool many : {false, true}) {
      if (many) {
        many_rows(kernel, product.args());
      } else {
        kernel.function(product.args());
      }
      for (int64_t i = 0; i < m; ++i) {
        const float* y = &product.y[static_cast<size_t>(i * 6)];
        EXPECT_EQ(y[0], inf);
        EXPECT_TRUE(std::isnan(y[1]));
        EXPECT_TRUE(std::isnan(y[2]));
        EXPECT_FLOAT_EQ(y[3], 20.0f + 0x1p-24f);
        EXPECT_FLOAT_EQ(y[4], 20.0f + weight_value(kernel.weight, product.w, 4 * 21 + 5));
        EXPECT_EQ(y[5], 21.0f);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, Dot, testing::ValuesIn(kernels_here()),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(DotChooser, TakesTheBestThatTheCpuHas) {
  CpuFeatures cpu;
  EXPECT_STREQ(choose_dot(WeightType::BF16, cpu).name, "dot_bf16_scalar");
#if defined(__x86_64__)
  cpu.avx2 = true;
  EXPECT_STREQ(choose_dot(WeightType::F16, cpu).name, "dot_f16_avx2");
  cpu.avx512 = true;
  EXPECT_STREQ(choose_dot(WeightType::F32, cpu).name, "dot_f32_avx512");
#endif
}

}  // namespace
}  // namespace pippin::kernels
