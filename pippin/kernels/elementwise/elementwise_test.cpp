#include "pippin/kernels/elementwise/elementwise.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace pippin::kernels {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr int64_t kSizes[] = {0, 1, 3, 4, 7, 8, 9, 15, 16, 17, 31, 33, 64, 100};

std::vector<const ElementwiseKernels*> tables_here() {
  return runnable(elementwise_kernels(), detect_cpu());
}

// Values of every size and sign, including typical edge cases.
std::vector<float> interesting(int64_t n, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> exponent(-12, 7);
  std::vector<float> values = {0.0f,     -0.0f,       1.0f,    -1.0f,   kInf,     -kInf,   NAN,
                               1e-45f,   -1e-45f,     1e-38f,  3.4e38f, -3.4e38f, 88.72f,  88.73f,
                               -87.3f,   -103.9f,     -104.1f, 0.65f,   -0.65f,   0.95f,   -0.95f,
                               0.5f,     1.5f,        2.5f,    -2.5f,   1e5f,     -1e5f,   1.1e5f,
                               1e10f,    16777216.0f, 127.99f, -149.5f, 128.0f,   -126.5f, 0.70710f,
                               1.41421f, 2.1e9f,      -2.1e9f, 3e9f,    -3e9f,    10.4f,   -14.0f};
  while (static_cast<int64_t>(values.size()) < n) {
    const float magnitude = std::exp2(exponent(random));
    values.push_back((random() & 1) != 0 ? magnitude : -magnitude);
  }
  std::shuffle(values.begin(), values.end(), random);
  values.resize(static_cast<size_t>(n));
  return values;
}

bool same_or_both_nan(float a, float b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

void expect_close(float result, float expected, float relative, float absolute,
                  const std::string& what) {
  if (same_or_both_nan(result, expected)) return;
  const double bound = double{relative} * std::fabs(double{expected}) + double{absolute};
  if (std::isinf(expected) && std::fabs(result) > 3.4e38f && (result > 0) == (expected > 0)) return;
  EXPECT_NEAR(double{result}, double{expected}, bound) << what;
}

class Elementwise : public testing::TestWithParam<const ElementwiseKernels*> {};

TEST_P(Elementwise, UnaryAgreesWithTheReference) {
  const ElementwiseKernels& table = *GetParam();
  for (int op = 0; op < kNumUnaryOps; ++op) {
    const UnaryOp unary = static_cast<UnaryOp>(op);
    for (const int64_t n : {int64_t{20000}, int64_t{19}}) {
      const std::vector<float> x = interesting(n, 5 + static_cast<uint32_t>(op));
      std::vector<float> y(x.size()), expected(x.size());
      const float alpha = unary == UnaryOp::Clip ? -2.0f : 0.3f;
      table.unary(unary, x.data(), y.data(), n, alpha, 0.75f);
      elementwise_scalar.unary(unary, x.data(), expected.data(), n, alpha, 0.75f);
      // sin and cos cross zero; x + alpha may cancel before a log; 1 / exp(-x) ends
      // at the smallest normal number, times x.
      float absolute = 2e-36f;
      if (unary == UnaryOp::Sin || unary == UnaryOp::Cos) absolute = 1e-7f;
      if (unary == UnaryOp::Log) absolute = 2e-7f;
      float relative = 1e-6f;
      // The reference adds and multiplies in double; fp32 rounds the intermediate sum.
      if (unary == UnaryOp::Inverse || unary == UnaryOp::Rsqrt) relative = 2e-5f;
      if (unary == UnaryOp::Linear || unary == UnaryOp::SigmoidHard) absolute = 1e-6f;
      // In the tails an exponential multiplies the rounding of its argument by its size.
      if (unary == UnaryOp::Gelu || unary == UnaryOp::GeluTanh || unary == UnaryOp::GeluSigmoid) {
        relative = 1.5e-5f;
      }
      for (size_t i = 0; i < x.size(); ++i) {
        expect_close(y[i], expected[i], relative, absolute,
                     "op " + std::to_string(op) + " of " + std::to_string(x[i]));
      }
    }
  }
}

TEST_P(Elementwise, TailsAndInPlace) {
  const ElementwiseKernels& table = *GetParam();
  for (int op = 0; op < kNumUnaryOps; ++op) {
    for (const int64_t n : kSizes) {
      std::vector<float> x(static_cast<size_t>(n));
      for (size_t i = 0; i < x.size(); ++i) x[i] = 0.37f * static_cast<float>(i) - 3;
      std::vector<float> y(x.size() + 1, -77.0f), whole(112), input(112);
      std::copy(x.begin(), x.end(), input.begin());
      table.unary(static_cast<UnaryOp>(op), x.data(), y.data(), n, 0.5f, 1);
      table.unary(static_cast<UnaryOp>(op), input.data(), whole.data(), 112, 0.5f, 1);
      EXPECT_EQ(y.back(), -77.0f);
      table.unary(static_cast<UnaryOp>(op), x.data(), x.data(), n, 0.5f, 1);
      for (size_t i = 0; i < x.size(); ++i) {
        EXPECT_TRUE(same_or_both_nan(x[i], y[i])) << "op " << op;
        EXPECT_TRUE(same_or_both_nan(whole[i], y[i])) << "op " << op << " place matters";
      }
    }
  }
}

TEST_P(Elementwise, BinaryAgreesWithTheReference) {
  const ElementwiseKernels& table = *GetParam();
  for (int op = 0; op < kNumBinaryOps; ++op) {
    for (const int64_t n : kSizes) {
      const std::vector<float> a = interesting(n + 1, 3);
      const std::vector<float> b = interesting(n + 1, 4 + static_cast<uint32_t>(n));
      for (int steps = 0; steps < 4; ++steps) {
        std::vector<float> y(static_cast<size_t>(n) + 1, -77.0f), expected(y);
        const auto binary = static_cast<BinaryOp>(op);
        table.binary(binary, a.data(), steps & 1, b.data(), steps >> 1, y.data(), n);
        elementwise_scalar.binary(binary, a.data(), steps & 1, b.data(), steps >> 1,
                                  expected.data(), n);
        for (size_t i = 0; i < y.size(); ++i) {
          EXPECT_TRUE(same_or_both_nan(y[i], expected[i]))
              << "op " << op << " steps " << steps << " at " << i << ": " << y[i] << " for "
              << expected[i];
        }
      }
    }
  }
}

TEST_P(Elementwise, IntegersAgreeWithTheReference) {
  const ElementwiseKernels& table = *GetParam();
  std::mt19937 random(1);
  for (const int64_t n : kSizes) {
    std::vector<int32_t> a(static_cast<size_t>(n) + 1), b(a.size());
    for (size_t i = 0; i < a.size(); ++i) {
      a[i] = static_cast<int32_t>(random()) >> (random() % 32);
      b[i] = static_cast<int32_t>(random()) >> (random() % 32);
    }
    a[0] = INT32_MIN;
    b[0] = n % 2 == 0 ? -1 : 0;
    for (int steps = 0; steps < 4; ++steps) {
      for (int op = 0; op < kNumBinaryOps; ++op) {
        std::vector<int32_t> y(a.size(), -77), expected(y);
        const auto binary = static_cast<BinaryOp>(op);
        table.binary_i32(binary, a.data(), steps & 1, b.data(), steps >> 1, y.data(), n);
        elementwise_scalar.binary_i32(binary, a.data(), steps & 1, b.data(), steps >> 1,
                                      expected.data(), n);
        EXPECT_EQ(y, expected) << "op " << op << " steps " << steps;
      }
      for (int op = 0; op < kNumCompareOps; ++op) {
        std::vector<uint8_t> y(a.size(), 77), expected(y);
        const auto compare = static_cast<CompareOp>(op);
        table.compare_i32(compare, a.data(), steps & 1, b.data(), steps >> 1, y.data(), n);
        elementwise_scalar.compare_i32(compare, a.data(), steps & 1, b.data(), steps >> 1,
                                       expected.data(), n);
        EXPECT_EQ(y, expected) << "op " << op << " steps " << steps;
      }
    }
  }
}

TEST_P(Elementwise, ComparesAndSelects) {
  const ElementwiseKernels& table = *GetParam();
  for (const int64_t n : kSizes) {
    std::vector<float> a = interesting(n + 1, 3);
    std::vector<float> b = interesting(n + 1, 9);
    for (size_t i = 0; i < a.size(); i += 3) b[i] = a[i];
    std::vector<uint8_t> condition(a.size());
    for (size_t i = 0; i < a.size(); ++i) condition[i] = i % 3 == 0 ? 0 : static_cast<uint8_t>(i);
    for (int steps = 0; steps < 8; ++steps) {
      const int64_t a_step = steps & 1, b_step = steps >> 1 & 1, condition_step = steps >> 2;
      for (int op = 0; op < kNumCompareOps; ++op) {
        std::vector<uint8_t> y(a.size(), 77), expected(y);
        const auto compare = static_cast<CompareOp>(op);
        table.compare(compare, a.data(), a_step, b.data(), b_step, y.data(), n);
        elementwise_scalar.compare(compare, a.data(), a_step, b.data(), b_step, expected.data(), n);
        EXPECT_EQ(y, expected) << "op " << op << " steps " << steps;
      }
      std::vector<float> y(a.size(), -77.0f), expected(y);
      table.select(condition.data(), condition_step, a.data(), a_step, b.data(), b_step, y.data(),
                   n);
      elementwise_scalar.select(condition.data(), condition_step, a.data(), a_step, b.data(),
                                b_step, expected.data(), n);
      EXPECT_EQ(std::memcmp(y.data(), expected.data(), y.size() * sizeof(float)), 0);
    }
  }
}

TEST_P(Elementwise, EveryHalfFloatConverts) {
  const ElementwiseKernels& table = *GetParam();
  std::vector<uint16_t> halves(65536), back(65536), expected_back(65536);
  for (size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<uint16_t>(i);
  std::vector<float> floats(65536), expected(65536);
  const auto equal_bits = [](const std::vector<float>& a, const std::vector<float>& b) {
    for (size_t i = 0; i < a.size(); ++i) {
      if (std::isnan(a[i]) && std::isnan(b[i])) continue;  // signalling ones become quiet
      if (std::bit_cast<uint32_t>(a[i]) != std::bit_cast<uint32_t>(b[i])) return false;
    }
    return true;
  };
  table.f16_to_f32(halves.data(), floats.data(), 65536);
  elementwise_scalar.f16_to_f32(halves.data(), expected.data(), 65536);
  EXPECT_TRUE(equal_bits(floats, expected));
  table.f32_to_f16(expected.data(), back.data(), 65536);
  elementwise_scalar.f32_to_f16(expected.data(), expected_back.data(), 65536);
  EXPECT_EQ(back, expected_back);
  table.bf16_to_f32(halves.data(), floats.data(), 65536);
  elementwise_scalar.bf16_to_f32(halves.data(), expected.data(), 65536);
  EXPECT_TRUE(equal_bits(floats, expected));
}

TEST_P(Elementwise, ConversionsRoundAlike) {
  const ElementwiseKernels& table = *GetParam();
  for (const int64_t n : {int64_t{50000}, int64_t{21}, int64_t{3}, int64_t{0}}) {
    std::vector<float> x = interesting(n, 8);
    std::mt19937 random(3);
    for (size_t i = 100; i < x.size(); ++i)
      x[i] = std::bit_cast<float>(static_cast<uint32_t>(random()));
    std::vector<uint16_t> y(x.size() + 1, 77), expected(y);
    table.f32_to_f16(x.data(), y.data(), n);
    elementwise_scalar.f32_to_f16(x.data(), expected.data(), n);
    EXPECT_EQ(y, expected);
    table.f32_to_bf16(x.data(), y.data(), n);
    elementwise_scalar.f32_to_bf16(x.data(), expected.data(), n);
    EXPECT_EQ(y, expected);
    std::vector<int32_t> ints(x.size() + 1, 77), expected_ints(ints);
    table.f32_to_i32(x.data(), ints.data(), n);
    elementwise_scalar.f32_to_i32(x.data(), expected_ints.data(), n);
    EXPECT_EQ(ints, expected_ints);
    std::vector<float> floats(x.size()), expected_floats(x.size());
    table.i32_to_f32(ints.data(), floats.data(), n);
    elementwise_scalar.i32_to_f32(ints.data(), expected_floats.data(), n);
    EXPECT_EQ(floats, expected_floats);
  }
}

// The code of x by definition, in double: a quotient of two floats is exactly halfway if and only
// if its double is.
int32_t code_of(float x, const CodeScale& scale) {
  const double code = std::nearbyint(double{x} / double{scale.scale}) + scale.zero;
  if (std::isnan(code)) return 0;
  return static_cast<int32_t>(std::clamp<double>(code, scale.lowest, scale.lowest + 255));
}

constexpr CodeScale kCodeScales[] = {
    {0.1f, 0, -128},     {4.0f / 127, 0, -128}, {0.0078125f, 100, 0}, {3.7f, -5, -128},
    {1e-30f, 127, -128}, {-0.3f, 255, 0},       {1e30f, 0, 0},        {0.0f, 3, -128},
    {kInf, 0, -128},     {NAN, 7, 0},           {0.7f, 1000, -128},   {0.05f, -1 << 20, 0},
};

// Adds all numbers halfway between codes or next to that.
std::vector<float> near_codes(int64_t n, float scale) {
  std::vector<float> values = interesting(std::max<int64_t>(n, 42), 21);
  for (int k = -140; k < 270; ++k) {
    const auto halfway = static_cast<float>((k + 0.5) * double{scale});
    for (const float limit : {-kInf, kInf}) values.push_back(std::nextafter(halfway, limit));
    values.push_back(halfway);
  }
  std::reverse(values.begin(), values.end());
  values.resize(static_cast<size_t>(n));
  return values;
}

TEST_P(Elementwise, CodesAreThoseOfExactDivision) {
  const ElementwiseKernels& table = *GetParam();
  for (const CodeScale& scale : kCodeScales) {
    std::vector<int64_t> sizes(std::begin(kSizes), std::end(kSizes));
    sizes.push_back(1260);
    for (const int64_t n : sizes) {
      SCOPED_TRACE("scale " + std::to_string(scale.scale) + ", " + std::to_string(n));
      const std::vector<float> x = near_codes(n, scale.scale);
      std::vector<int32_t> codes(x.size() + 1, -77);
      table.quantize(x.data(), codes.data(), n, scale);
      std::vector<float> back(x.size() + 1, -77), rounded = back;
      table.dequantize(codes.data(), back.data(), n, scale);
      table.round_to_codes(x.data(), rounded.data(), n, scale);
      std::vector<float> in_place = x;
      table.round_to_codes(in_place.data(), in_place.data(), n, scale);
      for (size_t i = 0; i < x.size(); ++i) {
        ASSERT_EQ(codes[i], code_of(x[i], scale)) << x[i];
        const float meant = static_cast<float>(codes[i] - scale.zero) * scale.scale;
        ASSERT_TRUE(same_or_both_nan(back[i], meant)) << x[i] << ": " << back[i];
        ASSERT_TRUE(same_or_both_nan(rounded[i], meant)) << x[i] << ": " << rounded[i];
        ASSERT_EQ(std::signbit(rounded[i]), std::signbit(meant)) << x[i];
        ASSERT_TRUE(same_or_both_nan(in_place[i], meant));
      }
      EXPECT_EQ(codes.back(), -77);
      EXPECT_EQ(back.back(), -77);
      EXPECT_EQ(rounded.back(), -77);
    }
  }
}

TEST_P(Elementwise, CodesInPairs) {
  for (const CodeScale& scale : kCodeScales) {
    if (std::abs(scale.zero) > 10000) continue;  // must fit 16 bits
    for (const int64_t n : kSizes) {
      const std::vector<float> a = near_codes(n, scale.scale), b = interesting(n, 22);
      for (const float* other : {b.data(), static_cast<const float*>(nullptr)}) {
        std::vector<int32_t> pairs(a.size() + 1, -77);
        GetParam()->pair_codes(a.data(), other, pairs.data(), n, scale);
        for (size_t i = 0; i < a.size(); ++i) {
          const auto low = static_cast<int16_t>(pairs[i] & 0xffff);
          const auto high = static_cast<int16_t>(pairs[i] >> 16);
          ASSERT_EQ(low, code_of(a[i], scale) - scale.zero) << a[i];
          ASSERT_EQ(high, other != nullptr ? code_of(b[i], scale) - scale.zero : 0) << b[i];
        }
        EXPECT_EQ(pairs.back(), -77);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Tables, Elementwise, testing::ValuesIn(tables_here()),
                         [](const auto& test) { return std::string(test.param->name); });

TEST(StridedCopy, TransposesSlicesAndBroadcasts) {
  std::vector<int32_t> x(2 * 3 * 4), y(x.size());
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<int32_t>(i);
  // y[4, 2, 3] = x[2, 3, 4] with its last axis first.
  strided_copy({x.data(), y.data(), 4, 3, {4, 2, 3}, {1, 12, 4}, {6, 3, 1}});
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 2; ++j) {
      for (int l = 0; l < 3; ++l) EXPECT_EQ(y[i * 6 + j * 3 + l], x[j * 12 + l * 4 + i]);
    }
  }
  // The middle columns of x as [6, 4], into every other element.
  std::vector<int32_t> wide(24, -1);
  strided_copy({x.data() + 1, wide.data(), 4, 2, {6, 2}, {4, 1}, {4, 2}});
  EXPECT_EQ(wide[0], 1);
  EXPECT_EQ(wide[1], -1);
  EXPECT_EQ(wide[22], 22);
  // One row to three; a contiguous whole; nothing; a scalar.
  strided_copy({x.data(), y.data(), 4, 2, {3, 4}, {0, 1}, {4, 1}});
  EXPECT_EQ(y[8], 0);
  EXPECT_EQ(y[11], 3);
  strided_copy({x.data(), y.data(), 4, 3, {2, 3, 4}, {12, 4, 1}, {12, 4, 1}});
  EXPECT_EQ(x, y);
  strided_copy({x.data() + 5, y.data(), 4, 2, {0, 4}, {4, 1}, {4, 1}});
  EXPECT_EQ(x, y);
  strided_copy({x.data() + 5, y.data(), 4, 0, {}, {}, {}});
  EXPECT_EQ(y[0], 5);
  // Blocks that end inside: [2, 19, 5, 7] with its second axis last, and back.
  constexpr int64_t kChannels = 19, kPlaces = 35;
  std::vector<int32_t> planes(2 * kChannels * kPlaces), places(planes.size()), back(planes.size());
  for (size_t i = 0; i < planes.size(); ++i) planes[i] = static_cast<int32_t>(i);
  const int64_t image = kChannels * kPlaces;
  strided_copy({planes.data(),
                places.data(),
                4,
                4,
                {2, 5, 7, kChannels},
                {image, 7, 1, kPlaces},
                {image, 7 * kChannels, kChannels, 1}});
  for (int64_t i = 0; i < 2 * image; ++i) {
    const int64_t place = i / kChannels % kPlaces, channel = i % kChannels;
    ASSERT_EQ(places[i], planes[i / image * image + channel * kPlaces + place]);
  }
  strided_copy({places.data(),
                back.data(),
                4,
                3,
                {2, kChannels, kPlaces},
                {image, 1, kChannels},
                {image, kPlaces, 1}});
  EXPECT_EQ(back, planes);
  // Three interleaved lines, whole vectors and less, with and without gaps between positions.
  for (const int64_t n : {1, 3, 4, 11, 16}) {
    for (const int64_t stride : {3, 5}) {
      std::vector<int32_t> lines(static_cast<size_t>(3 * (n + 2))), colours(n * stride, -1);
      for (size_t i = 0; i < lines.size(); ++i) lines[i] = static_cast<int32_t>(i);
      strided_copy({lines.data(), colours.data(), 4, 2, {n, 3}, {1, n + 2}, {stride, 1}});
      for (int64_t i = 0; i < n * stride; ++i) {
        const int64_t line = i % stride, place = i / stride;
        ASSERT_EQ(colours[i], line < 3 ? line * (n + 2) + place : -1) << n << " by " << stride;
      }
    }
  }
  const uint16_t halves[] = {1, 2, 3, 4};
  uint16_t turned[4];
  strided_copy({halves, turned, 2, 2, {2, 2}, {1, 2}, {2, 1}});
  EXPECT_EQ(turned[1], 3);
}

}  // namespace
}  // namespace pippin::kernels
