#include "pippin/kernels/e4m7/e4m7.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/base/numbers/float16.h"

namespace pippin::kernels {
namespace {

using Weights = std::vector<uint16_t>;

float value_of(WeightType type, uint16_t bits) {
  return type == WeightType::F16 ? to_float(float16{bits}) : to_float(bfloat16{bits});
}

// A number after its conversion from a bf16 checkpoint.
uint16_t born_bf16(WeightType type, float value) {
  const bfloat16 first = to_bfloat16(value);
  return type == WeightType::F16 ? to_float16(to_float(first)).bits : first.bits;
}

Weights normal_weights(WeightType type, int64_t count, float deviation, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, deviation);
  Weights weights(static_cast<size_t>(count));
  for (uint16_t& weight : weights) weight = born_bf16(type, normal(random));
  return weights;
}

// A matrix in memory of its exact size.
struct Packed {
  Packed(WeightType type, const Weights& weights, int64_t n, int64_t k)
      : words(static_cast<size_t>((e4m7_bytes(n, k) + 7) / 8)) {
    auto* bytes = reinterpret_cast<std::byte*>(words.data());
    const E4M7Parts parts = e4m7_parts(bytes, n, k);
    for (int64_t j = 0; j < n; ++j) {
      const E4M7Row row =
          pack_e4m7_row(type, reinterpret_cast<const std::byte*>(weights.data() + j * k), k,
                        parts.codes + j * parts.row_bytes, parts.exceptions + exceptions,
                        most_e4m7_exceptions(n, k) - exceptions);
      parts.scales[j] = row.scale;
      parts.begins[j] = static_cast<uint32_t>(exceptions);
      exceptions += row.num_exceptions;
    }
    parts.begins[n] = static_cast<uint32_t>(exceptions);
    matrix = e4m7_matrix(bytes, n, k);
  }
  std::vector<uint64_t> words;
  E4M7Matrix matrix{};
  int64_t exceptions = 0;
};

constexpr float kUntouched = -7777;

// With x lifted, in memory of its exact size, if the kernels need it.
void run_e4m7(const E4M7Kernels& kernels, E4M7Args args) {
  const int64_t k = args.w->k, stride = e4m7_lifted_stride(k);
  std::vector<float> rows;
  E4M7Lifted lifted{nullptr, stride, {}};
  if (args.m <= kernels.lifted_rows) {
    rows.assign(static_cast<size_t>(args.m * stride), kUntouched);
    lifted.rows = rows.data();
    kernels.lift(args.x, args.x_stride, args.m, k, lifted);
  }
  args.lifted = &lifted;
  kernels.dot(args);
}

struct Product {
  int64_t m, n, k, padding;
  std::vector<float> x, bias;

  Product(int64_t rows, int64_t columns, int64_t length, bool with_bias, int64_t pad)
      : m(rows), n(columns), k(length), padding(pad) {
    std::mt19937 random(static_cast<uint32_t>(m * 31 + n * 7 + k));
    std::normal_distribution<float> normal;
    x.resize(static_cast<size_t>((m - 1) * (k + padding) + k));
    for (float& value : x) value = normal(random);
    bias.resize(with_bias ? static_cast<size_t>(n) : 0);
    for (float& value : bias) value = normal(random);
  }
  const float* bias_data() const { return bias.empty() ? nullptr : bias.data(); }
  std::vector<float> result() const {
    return std::vector<float>(static_cast<size_t>(m * (n + padding)), kUntouched);
  }
  std::vector<float> run(const E4M7Kernels& kernels, const E4M7Matrix& w) const {
    std::vector<float> y = result();
    run_e4m7(kernels, {&w, x.data(), k + padding, bias_data(), y.data(), n + padding, m, 0, n, {}});
    return y;
  }
  std::vector<float> run(const DotKernel& kernel, const Weights& w) const {
    std::vector<float> y = result();
    kernel.function(
        {x.data(), k + padding, w.data(), k, bias_data(), y.data(), n + padding, m, n, k});
    return y;
  }
};

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

class E4M7 : public ::testing::TestWithParam<const E4M7Kernels*> {};

// Rows of x with a single 1 read out every weight.
std::vector<float> all_weights(const E4M7Kernels& kernels, const E4M7Matrix& w) {
  std::vector<float> result(static_cast<size_t>(w.n * w.k));
  for (int64_t column = 0; column < w.k; ++column) {
    std::vector<float> x(static_cast<size_t>(w.k)), y(static_cast<size_t>(w.n));
    x[static_cast<size_t>(column)] = 1;
    run_e4m7(kernels, {&w, x.data(), w.k, nullptr, y.data(), w.n, 1, 0, w.n, {}});
    for (int64_t row = 0; row < w.n; ++row) {
      result[static_cast<size_t>(row * w.k + column)] = y[static_cast<size_t>(row)];
    }
  }
  return result;
}

TEST_P(E4M7, KeepsEveryWeight) {
  for (const WeightType type : {WeightType::F16, WeightType::BF16}) {
    for (const float deviation : {0.0003f, 0.02f, 0.3f, 20.0f}) {
      constexpr int64_t n = 5, k = 300;
      Weights weights = normal_weights(type, n * k, deviation, 3);
      weights[0] = weights[k + 17] = 0;
      weights[2 * k + 299] = 0x8000;                                    // -0
      weights[3 * k + 5] = 1;                                           // the smallest subnormal
      weights[4 * k + 130] = born_bf16(type, 30'000 * deviation / 20);  // an outlier
      const Packed packed(type, weights, n, k);
      ASSERT_LE(packed.exceptions, most_e4m7_exceptions(n, k)) << deviation;
      const std::vector<float> values = all_weights(*GetParam(), packed.matrix);
      for (size_t i = 0; i < values.size(); ++i) {
        ASSERT_EQ(values[i], value_of(type, weights[i])) << i << " of deviation " << deviation;
      }
    }
  }
}

TEST_P(E4M7, KeepsEveryNumberThatItsScaleHas) {
  // All signs, exponents and mantissas of a scale: two rows of 2048 codes.
  Weights weights;
  for (uint32_t code = 0; code < 4096; ++code) {
    const uint32_t bits = (code & 0x800) << 20 | (code & 0x7ff) << 16;
    const float value = std::bit_cast<float>(bits) * 0x1p109f;
    weights.push_back(to_float16(value).bits);
    ASSERT_EQ(to_float(float16{weights.back()}), value);
  }
  const Packed packed(WeightType::F16, weights, 2, 2048);
  EXPECT_EQ(packed.exceptions, 0);
  const std::vector<float> values = all_weights(*GetParam(), packed.matrix);
  for (size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(values[i], to_float(float16{weights[i]})) << i;
  }
}

TEST_P(E4M7, PassesOnInfinitiesAndNaNs) {
  Weights weights = normal_weights(WeightType::F16, 3 * 512, 0.1f, 5);
  weights[7] = 0x7c00;
  weights[512 + 9] = 0x7e00;
  const Packed packed(WeightType::F16, weights, 3, 512);
  EXPECT_EQ(packed.exceptions, 2);
  const Product product(1, 3, 512, false, 0);
  const std::vector<float> y = product.run(*GetParam(), packed.matrix);
  EXPECT_EQ(std::fabs(y[0]), std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(y[1]));
  EXPECT_TRUE(std::isfinite(y[2]));
}

TEST_P(E4M7, HasTheBitsOfTheHalvesThemselves) {
  const std::string isa = std::string(GetParam()->name).substr(std::strlen("e4m7"));
  const DotKernel* halves = nullptr;
  for (const DotKernel& kernel : dot_kernels()) {
    if (kernel.name == "dot_f16" + isa) halves = &kernel;
  }
  ASSERT_NE(halves, nullptr);
  for (const int64_t k : {1, 15, 64, 127, 128, 129, 1000, 1024, 1153, 2100}) {
    for (const int64_t m : {1, 2, 3, 4, 5, 6, 7, 13, 100}) {
      for (const int64_t n : {1, 3, 4, 33}) {
        if (m == 100 && k > 200) continue;
        const Weights weights = normal_weights(WeightType::F16, n * k, 0.03f, 11);
        const Packed packed(WeightType::F16, weights, n, k);
        ASSERT_EQ(packed.exceptions, 0);
        const Product product(m, n, k, n != 3, k % 3);
        EXPECT_TRUE(
            same_bits(product.run(*GetParam(), packed.matrix), product.run(*halves, weights)))
            << m << " x " << n << " x " << k;
      }
    }
  }
}

TEST_P(E4M7, GivesTheSameBitsForEveryNumberOfRowsAndColumns) {
  constexpr int64_t m = 13, n = 70, k = 1300;
  Weights weights = normal_weights(WeightType::BF16, n * k, 0.1f, 17);
  for (size_t i = 0; i < weights.size(); i += 1111) weights[i] = to_bfloat16(300.0f + i).bits;
  const Packed packed(WeightType::BF16, weights, n, k);
  ASSERT_GT(packed.exceptions, 60);
  const Product product(m, n, k, true, 0);
  const std::vector<float> all = product.run(*GetParam(), packed.matrix);
  std::vector<float> again = product.result();
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t begin = 0; begin < n;) {
      const int64_t end = std::min(n, begin + 1 + (begin + i) % 20);
      run_e4m7(*GetParam(), {&packed.matrix,
                             product.x.data() + i * k,
                             k,
                             product.bias.data(),
                             again.data() + i * n,
                             n,
                             1,
                             begin,
                             end,
                             {}});
      begin = end;
    }
  }
  EXPECT_TRUE(same_bits(all, again));
}

// Each row of x is lifted by its own power of two.
TEST_P(E4M7, HasTheSameBitsForLargeAndSmallActivations) {
  constexpr int64_t n = 9, k = 300;
  const DotKernel* halves = nullptr;
  for (const DotKernel& kernel : dot_kernels()) {
    if (detect_cpu().*kernel.needs && kernel.weight == WeightType::F16 &&
        std::string(kernel.name).substr(3 + 4) == std::string(GetParam()->name).substr(4)) {
      halves = &kernel;
    }
  }
  ASSERT_NE(halves, nullptr);
  for (const float deviation : {0.0001f, 0.03f, 5000.0f}) {
    const Weights weights = normal_weights(WeightType::F16, n * k, deviation, 29);
    const Packed packed(WeightType::F16, weights, n, k);
    for (const int64_t m : {1, 3, 7}) {
      for (const float size : {1e-30f, 1e-12f, 1e4f, 1e12f, 1e30f}) {
        Product product(m, n, k, false, 1);
        for (float& value : product.x) value *= size;
        product.x[1] = 0;
        if (packed.exceptions == 0) {
          EXPECT_TRUE(
              same_bits(product.run(*GetParam(), packed.matrix), product.run(*halves, weights)))
              << m << " rows of " << size << " with weights of " << deviation;
        }
      }
    }
  }
}

TEST_P(E4M7, ActivationsWithoutANumberGiveNone) {
  const Weights weights = normal_weights(WeightType::F16, 5 * 200, 0.02f, 31);
  const Packed packed(WeightType::F16, weights, 5, 200);
  for (const float odd :
       {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
        std::numeric_limits<float>::quiet_NaN()}) {
    for (const int64_t m : {1, 2, 9}) {
      Product product(m, 5, 200, false, 0);
      product.x[static_cast<size_t>((m - 1) * 200 + 150)] = odd;
      const std::vector<float> y = product.run(*GetParam(), packed.matrix);
      for (size_t i = 0; i < y.size(); ++i) {
        EXPECT_EQ(std::isfinite(y[i]), i < static_cast<size_t>((m - 1) * 5)) << i << " of " << m;
      }
    }
  }
}

TEST_P(E4M7, AgreesWithTheReference) {
  for (const int64_t m : {1, 2, 9}) {
    constexpr int64_t n = 21, k = 777;
    Weights weights = normal_weights(WeightType::F16, n * k, 0.02f, 23);
    for (size_t i = 0; i < weights.size(); i += 500) weights[i] = to_float16(2.0f + i / 8).bits;
    const Packed packed(WeightType::F16, weights, n, k);
    ASSERT_GT(packed.exceptions, 0);
    const Product product(m, n, k, true, 2);
    const std::vector<float> y = product.run(*GetParam(), packed.matrix);
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        double sum = double{product.bias[static_cast<size_t>(j)]}, magnitude = std::fabs(sum);
        for (int64_t l = 0; l < k; ++l) {
          const double one =
              double{product.x[static_cast<size_t>(i * (k + 2) + l)]} *
              double{value_of(WeightType::F16, weights[static_cast<size_t>(j * k + l)])};
          sum += one;
          magnitude += std::fabs(one);
        }
        EXPECT_NEAR(y[static_cast<size_t>(i * (n + 2) + j)], sum, magnitude * 2e-6);
      }
      for (int64_t j = n; j < n + 2; ++j) {
        EXPECT_EQ(y[static_cast<size_t>(i * (n + 2) + j)], kUntouched);
      }
    }
  }
}

TEST(E4M7Row, FindsTheScaleWithTheFewestExceptions) {
  // Outliers in a row of small numbers, and one small number in a row of large ones.
  Weights small = normal_weights(WeightType::F16, 1000, 0.0003f, 1);
  small[3] = to_float16(1.5f).bits;
  small[999] = to_float16(-4.0f).bits;
  std::vector<uint8_t> codes(8 * kE4M7GroupBytes);
  E4M7Exception exceptions[3];
  const auto pack = [&](const Weights& row) {
    return pack_e4m7_row(WeightType::F16, reinterpret_cast<const std::byte*>(row.data()), 1000,
                         codes.data(), exceptions, 3);
  };
  EXPECT_EQ(pack(small).num_exceptions, 2);
  EXPECT_EQ(exceptions[0].column, 3u);
  EXPECT_EQ(exceptions[0].value, 1.5f);
  EXPECT_EQ(exceptions[1].column, 999u);
  EXPECT_EQ(exceptions[1].value, -4.0f);
  Weights large(1000, to_float16(40.0f).bits);
  large[500] = 1;
  EXPECT_EQ(pack(large).num_exceptions, 1);
  EXPECT_EQ(exceptions[0].column, 500u);
  EXPECT_EQ(exceptions[0].value, 0x1p-24f);
}

TEST(E4M7Row, CountsWhatElevenBitsHaveTooMuch) {
  std::mt19937 random(2);
  std::normal_distribution<float> normal(0, 0.02f);
  Weights row(1024);
  for (uint16_t& weight : row) weight = to_float16(normal(random)).bits;
  std::vector<uint8_t> codes(8 * kE4M7GroupBytes);
  E4M7Exception exceptions[4];
  const E4M7Row packed =
      pack_e4m7_row(WeightType::F16, reinterpret_cast<const std::byte*>(row.data()), 1024,
                    codes.data(), exceptions, 4);
  EXPECT_GT(packed.num_exceptions, 800);  // seven eighths, but within the room for four
}

INSTANTIATE_TEST_SUITE_P(Kernels, E4M7, ::testing::ValuesIn(runnable(e4m7_kernels(), detect_cpu())),
                         [](const auto& which) { return std::string(which.param->name); });

}  // namespace
}  // namespace pippin::kernels
