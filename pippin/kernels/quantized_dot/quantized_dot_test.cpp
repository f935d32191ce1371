#include "pippin/kernels/quantized_dot/quantized_dot.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/base/numbers/float16.h"
#include "pippin/base/threads/thread_pool.h"

namespace pippin::kernels {
namespace {

// One way to compress a matrix.
struct Form {
  std::string name;
  int bits;
  bool is_signed, palette;
  int64_t block_rows, block_columns;  // 0: all of them
  WeightType type = WeightType::F16;
  OffsetType offsets = OffsetType::None;
  bool scaled = false;  // scaled_offsets
};

const Form kForms[] = {
    {"int4_block32", 4, true, false, 1, 32},
    {"int4_block16", 4, true, false, 1, 16},
    {"int4_block96_offsets", 4, true, false, 1, 96, WeightType::F16, OffsetType::I4},
    {"int4_channel", 4, true, false, 1, 0},
    {"uint4_block64_offsets", 4, false, false, 1, 64, WeightType::F16, OffsetType::U4},
    {"uint4_block32_offsets", 4, false, false, 1, 32, WeightType::F32, OffsetType::U4},
    {"uint4_block128_offsets", 4, false, false, 1, 128, WeightType::F16, OffsetType::U4},
    {"uint4_block256_offsets", 4, false, false, 1, 256, WeightType::BF16, OffsetType::F32},
    {"int4_block512", 4, true, false, 1, 512, WeightType::F32},
    {"uint4_tensor", 4, false, false, 0, 0, WeightType::F16, OffsetType::U4},
    {"int8_channel", 8, true, false, 1, 0},
    {"int8_block32_offsets", 8, true, false, 1, 32, WeightType::F32, OffsetType::I8},
    {"int8_rows2_block16", 8, true, false, 2, 16, WeightType::F16, OffsetType::F16},
    {"uint8_channel_offsets", 8, false, false, 1, 0, WeightType::F16, OffsetType::U8},
    {"uint8_block128", 8, false, false, 1, 128, WeightType::BF16, OffsetType::F32},
    {"uint8_block32_scaled", 8, false, false, 1, 32, WeightType::F32, OffsetType::F32, true},
    {"uint4_block16_scaled", 4, false, false, 1, 16, WeightType::F16, OffsetType::F32, true},
    {"uint4_block64_scaled", 4, false, false, 1, 64, WeightType::F16, OffsetType::F16, true},
    {"uint8_block128_scaled", 8, false, false, 1, 128, WeightType::BF16, OffsetType::BF16, true},
    {"uint4_channel_scaled", 4, false, false, 1, 0, WeightType::BF16, OffsetType::BF16, true},
    {"lut1", 1, false, true, 0, 0},
    {"lut2_grouped4", 2, false, true, 4, 0},
    {"lut3_grouped2", 3, false, true, 2, 0, WeightType::F32},
    {"lut4_grouped4", 4, false, true, 4, 0},
    {"lut4_columns", 4, false, true, 0, 32},
    {"lut6", 6, false, true, 0, 0},
    {"lut6_grouped4", 6, false, true, 4, 0},
    {"lut8_grouped4", 8, false, true, 4, 0},
};

// A compressed matrix in memory of its exact size, so that a sanitizer detects every access
// outside.
struct Weights {
  Weights(const Form& form, int64_t n, int64_t k, uint32_t seed) : random(seed) {
    w.n = n;
    w.k = k;
    w.bits = form.bits;
    w.is_signed = form.is_signed;
    w.block_rows = form.block_rows == 0 ? n : form.block_rows;
    w.block_columns = form.block_columns == 0 ? k : form.block_columns;
    w.blocks_per_row = (k + w.block_columns - 1) / w.block_columns;
    const int64_t blocks = (n + w.block_rows - 1) / w.block_rows * w.blocks_per_row;
    codes.resize(static_cast<size_t>((n * k * form.bits + 7) / 8));
    for (uint8_t& byte : codes) byte = static_cast<uint8_t>(random());
    w.codes = codes.data();
    if (form.palette) {
      palettes = floats(form.type, blocks << form.bits);
      w.palettes = palettes.data();
      w.palette_type = form.type;
      bytes = make_byte_palettes(w.palettes, form.type, form.bits, blocks);
      w.byte_palettes = bytes.bytes.data();
      w.byte_scales = bytes.scales.data();
      return;
    }
    scales = floats(form.type, blocks);
    w.scales = scales.data();
    w.scale_type = form.type;
    w.offset_type = form.offsets;
    w.scaled_offsets = form.scaled;
    switch (form.offsets) {
      case OffsetType::None:
        return;
      case OffsetType::F32:
        offsets = floats(WeightType::F32, blocks);
        break;
      case OffsetType::F16:
        offsets = floats(WeightType::F16, blocks);
        break;
      case OffsetType::BF16:
        offsets = floats(WeightType::BF16, blocks);
        break;
      default:
        offsets.resize(static_cast<size_t>(
            form.offsets == OffsetType::I8 || form.offsets == OffsetType::U8 ? blocks
                                                                             : (blocks + 1) / 2));
        for (std::byte& byte : offsets) byte = static_cast<std::byte>(random());
    }
    w.offsets = offsets.data();
  }

  std::vector<std::byte> floats(WeightType type, int64_t count) {
    std::normal_distribution<float> normal;
    std::vector<std::byte> result(static_cast<size_t>(count * bytes_per_weight(type)));
    for (int64_t i = 0; i < count; ++i) {
      const float value = normal(random);
      const uint16_t half =
          type == WeightType::F16 ? to_float16(value).bits : to_bfloat16(value).bits;
      if (type == WeightType::F32) {
        std::memcpy(result.data() + 4 * i, &value, 4);
      } else {
        std::memcpy(result.data() + 2 * i, &half, 2);
      }
    }
    return result;
  }

  static int64_t bytes_per_weight(WeightType type) { return type == WeightType::F32 ? 4 : 2; }

  std::mt19937 random;
  QuantizedMatrix w{};
  std::vector<uint8_t> codes;
  std::vector<std::byte> scales, offsets, palettes;
  BytePalettes bytes;
};

std::vector<float> activations(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> x(static_cast<size_t>(count));
  for (float& value : x) value = normal(random);
  return x;
}

struct Aligned {
  explicit Aligned(int64_t size) : bytes(static_cast<size_t>(size) + 64) {}
  void* data() {
    const auto at = reinterpret_cast<uintptr_t>(bytes.data());
    return bytes.data() + (64 - at % 64) % 64;
  }
  std::vector<std::byte> bytes;
};

// y[m, n] of the fast dot, split into `threads` parts, from activations in the form of `form_of`.
std::vector<float> fast_dot(const QuantizedDotKernels& kernels, const QuantizedDotKernels& form_of,
                            const QuantizedMatrix& w, const float* x, int64_t m, const float* bias,
                            int threads = 1) {
  QuantizedRows rows = quantized_form(form_of, w, m);
  Aligned memory(quantized_bytes(rows));
  place_quantized(rows, memory.data());
  kernels.quantize(x, w.k, 0, m, rows);
  std::vector<float> y(static_cast<size_t>(m * w.n), -12345.0F);
  for (int part = 0; part < threads; ++part) {
    const int64_t grain = m <= kernels.few_rows ? kFewRowsGrain : kQuantizedDotGrain;
    const Range n = split_range(w.n, part, threads, grain);
    Aligned scratch(quantized_dot_scratch_bytes());
    if (n.begin < n.end) {
      kernels.dot({&w, &rows, bias, y.data(), w.n, n.begin, n.end, scratch.data()});
    }
  }
  return y;
}
std::vector<float> fast_dot(const QuantizedDotKernels& kernels, const QuantizedMatrix& w,
                            const float* x, int64_t m, const float* bias, int threads = 1) {
  return fast_dot(kernels, kernels, w, x, m, bias, threads);
}

std::vector<const QuantizedDotKernels*> kernels_here() {
  return runnable(quantized_dot_kernels(), detect_cpu());
}

class QuantizedForms
    : public testing::TestWithParam<std::tuple<const QuantizedDotKernels*, const Form*>> {
 protected:
  const QuantizedDotKernels& kernels() { return *std::get<0>(GetParam()); }
  const Form& form() { return *std::get<1>(GetParam()); }
};

TEST_P(QuantizedForms, ExpandsEveryElementAsTheReference) {
  for (const auto& [n, k] : {std::pair{8, 1}, {8, 31}, {8, 96}, {16, 129}, {12, 1000}}) {
    Weights weights(form(), n, k, static_cast<uint32_t>(k));
    std::vector<float> expected(static_cast<size_t>(k)), actual(static_cast<size_t>(k));
    for (int64_t i = 0; i < n; ++i) {
      for (const int64_t begin : {int64_t{0}, int64_t{k / 3}}) {
        const auto count = static_cast<size_t>(k - begin);
        quantized_dot_scalar.expand(weights.w, i, begin, k, expected.data());
        kernels().expand(weights.w, i, begin, k, actual.data());
        for (size_t j = 0; j < count; ++j) {
          ASSERT_FLOAT_EQ(actual[j], expected[j]) << "row " << i << " at " << j << " of " << k;
        }
      }
    }
  }
}

TEST_P(QuantizedForms, MultipliesAsTheReference) {
  for (const int64_t k : {32, 96, 416, 544, 1120}) {
    for (const int64_t n : {4, 36, 68}) {
      Weights weights(form(), n, k, static_cast<uint32_t>(n + k));
      if (!can_dot(weights.w)) {
        EXPECT_EQ(form().name, "lut4_columns");
        continue;
      }
      constexpr int64_t kM = 13;
      const std::vector<float> x = activations(kM * k, 7), bias = activations(n, 8);
      const auto plain =
          fast_dot(quantized_dot_scalar, kernels(), weights.w, x.data(), kM, nullptr);
      const auto biased =
          fast_dot(quantized_dot_scalar, kernels(), weights.w, x.data(), kM, bias.data());
      // The terms of a sum are about 3 * the largest value, with either sign.
      std::vector<double> allowed(plain.size(), 0);
      std::vector<float> row(static_cast<size_t>(k));
      for (int64_t j = 0; j < n; ++j) {
        quantized_dot_scalar.expand(weights.w, j, 0, k, row.data());
        for (int64_t i = 0; i < kM; ++i) {
          double magnitude = 1;
          for (size_t l = 0; l < row.size(); ++l) {
            magnitude += std::fabs(double{row[l]} * double{x[static_cast<size_t>(i * k) + l]});
          }
          // Offsets partly cancel.
          const double off = form().offsets == OffsetType::None ? 1e-6 : 2e-5;
          allowed[static_cast<size_t>(i * n + j)] = off * magnitude;
        }
      }
      for (const int64_t m : {1, 2, 3, 4, 5, 7, 13}) {
        const bool with_bias = m % 2 == 0;
        const auto& expected = with_bias ? biased : plain;
        const auto actual =
            fast_dot(kernels(), weights.w, x.data(), m, with_bias ? bias.data() : nullptr);
        for (size_t at = 0; at < actual.size(); ++at) {
          ASSERT_NEAR(actual[at], expected[at], allowed[at])
              << "m " << m << " n " << n << " k " << k << " at " << at;
        }
      }
    }
  }
}

// Rows so long that a kernel may treat them differently.
TEST_P(QuantizedForms, LongRows) {
  constexpr int64_t kK = 5536, kN = 13;
  Weights weights(form(), kN, kK, 12);
  if (!can_dot(weights.w)) return;
  for (const int64_t m : {1, 2}) {
    const std::vector<float> x = activations(m * kK, 13);
    const auto expected =
        fast_dot(quantized_dot_scalar, kernels(), weights.w, x.data(), m, nullptr);
    const auto actual = fast_dot(kernels(), weights.w, x.data(), m, nullptr);
    for (size_t i = 0; i < expected.size(); ++i) {
      // Sums of 5536 terms of about 1, or with offsets of 128 of about 100.
      const double off = form().offsets == OffsetType::None ? 1e-2 : 2;
      ASSERT_NEAR(actual[i], expected[i], off) << "m " << m << " at " << i;
    }
    const auto split = fast_dot(kernels(), weights.w, x.data(), m, nullptr, 3);
    ASSERT_EQ(std::memcmp(actual.data(), split.data(), actual.size() * sizeof(float)), 0) << m;
  }
}

// Rounding to 8 bits adds an error of about 1/400 of a unit's largest value per term, of random
// sign.
TEST_P(QuantizedForms, FastIsNearToExact) {
  constexpr int64_t kK = 1024, kN = 32;
  Weights weights(form(), kN, kK, 3);
  if (!can_dot(weights.w)) return;
  const std::vector<float> x = activations(kK, 9);
  const auto fast = fast_dot(kernels(), weights.w, x.data(), 1, nullptr);
  std::vector<float> row(kK);
  double error = 0, norm = 0;
  for (int64_t j = 0; j < kN; ++j) {
    quantized_dot_scalar.expand(weights.w, j, 0, kK, row.data());
    double sum = 0, squares = 0;
    for (size_t l = 0; l < row.size(); ++l) {
      sum += double{row[l]} * double{x[l]};
      squares += double{row[l]} * double{row[l]};
    }
    error += std::pow(sum - double{fast[static_cast<size_t>(j)]}, 2);
    norm += squares;  // the expected square of a sum over normal activations
  }
  EXPECT_LT(std::sqrt(error / norm), 0.01);
}

// Codes, activations and results start at any address, and the last columns do not fill a register.
TEST_P(QuantizedForms, MultipliesAnyNumberOfRowsAndColumnsFromAnyAddress) {
  constexpr int64_t kK = 352;
  for (const int64_t n : {1, 37}) {
    Weights weights(form(), n, kK, 6);
    if (!can_dot(weights.w)) return;
    std::vector<uint8_t> moved(weights.codes.size() + 3);
    std::memcpy(moved.data() + 3, weights.codes.data(), weights.codes.size());
    QuantizedMatrix w = weights.w;
    w.codes = moved.data() + 3;
    constexpr int64_t kM = 33;
    const std::vector<float> x = activations(kM * kK + 1, 11);
    const auto expected =
        fast_dot(quantized_dot_scalar, kernels(), weights.w, x.data() + 1, kM, nullptr);
    for (int64_t m = 1; m <= kM; ++m) {
      const auto actual = fast_dot(kernels(), w, x.data() + 1, m, nullptr);
      for (size_t i = 0; i < actual.size(); ++i) {
        // Sums of 352 terms of about 1, or with offsets of 128 of about 100.
        const double off = form().offsets == OffsetType::None ? 1e-3 : 0.5;
        ASSERT_NEAR(actual[i], expected[i], off) << "m " << m << " n " << n << " at " << i;
      }
    }
  }
}

// Both promises of quantized_dot.h: independence from the split of n over threads, and from other
// rows.
TEST_P(QuantizedForms, BitsDoNotDependOnThreadsOrRows) {
  constexpr int64_t kN = 37, kM = 33;
  for (const int64_t k : {416, 544}) {
    Weights weights(form(), kN, k, 5);
    if (!can_dot(weights.w)) return;
    const std::vector<float> x = activations(kM * k, 10), bias = activations(kN, 11);
    for (const float* added : {static_cast<const float*>(nullptr), bias.data()}) {
      const auto all = fast_dot(kernels(), weights.w, x.data(), kM, added);
      for (int64_t m = 1; m < kM; ++m) {
        // Starts at another row each time, so that each is at every position.
        const int64_t first = m * 5 % (kM - m + 1);
        const int threads = m % 3 == 0 ? 4 : 1 + static_cast<int>(m % 2);
        const auto some = fast_dot(kernels(), weights.w, x.data() + first * k, m, added, threads);
        ASSERT_EQ(std::memcmp(some.data(), all.data() + first * kN, some.size() * sizeof(float)), 0)
            << "k " << k << " m " << m << " from " << first << " threads " << threads;
      }
    }
  }
}

// More rows than kernels process at once.
TEST_P(QuantizedForms, BitsDoNotDependOnHundredsOfRows) {
  constexpr int64_t kN = 7, kK = 160, kM = 261;
  Weights weights(form(), kN, kK, 5);
  if (!can_dot(weights.w)) return;
  const std::vector<float> x = activations(kM * kK, 10);
  const auto all = fast_dot(kernels(), weights.w, x.data(), kM, nullptr);
  for (int64_t i = 0; i < kM; i += i < 250 ? 31 : 1) {
    const auto one = fast_dot(kernels(), weights.w, x.data() + i * kK, 1, nullptr);
    ASSERT_EQ(std::memcmp(one.data(), all.data() + i * kN, one.size() * sizeof(float)), 0) << i;
  }
}

std::vector<const Form*> forms() {
  std::vector<const Form*> result;
  for (const Form& form : kForms) result.push_back(&form);
  return result;
}

INSTANTIATE_TEST_SUITE_P(Kernels, QuantizedForms,
                         testing::Combine(testing::ValuesIn(kernels_here()),
                                          testing::ValuesIn(forms())),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param)->name) + "_" +
                                  std::get<1>(test.param)->name;
                         });

#if defined(__aarch64__)
// The tiles of row pairs add in the same order as the others.
TEST(QuantizedDotRowPairs, GiveTheBitsOfSingleRows) {
  if (!detect_cpu().neoni8mm) GTEST_SKIP() << "this processor has no i8mm";
  constexpr int64_t kK = 416, kN = 45;
  for (const Form& form : kForms) {
    Weights weights(form, kN, kK, 12);
    if (!can_dot(weights.w)) continue;
    for (int64_t m = 1; m <= 15; ++m) {
      const std::vector<float> x = activations(m * kK, 13), bias = activations(kN, 14);
      const auto single = fast_dot(quantized_dot_neondot, weights.w, x.data(), m, bias.data());
      const auto pairs = fast_dot(quantized_dot_neoni8mm, weights.w, x.data(), m, bias.data());
      ASSERT_EQ(std::memcmp(single.data(), pairs.data(), single.size() * sizeof(float)), 0)
          << form.name << " m " << m;
    }
  }
}
#endif

class QuantizeRows : public testing::TestWithParam<const QuantizedDotKernels*> {};

TEST_P(QuantizeRows, ExtremeActivationsStayInTheirRowAndUnit) {
  const Form blocks{"", 4, true, false, 1, 32}, palettes{"", 6, false, true, 4, 0};
  Weights block_weights(blocks, 8, 128, 1), palette_weights(palettes, 8, 128, 1);
  const float inf = std::numeric_limits<float>::infinity();
  for (const float extreme : {0.0F, 1e-44F, 1e-37F, 1e30F, inf, -inf, std::nanf("")}) {
    for (const auto& [weights, m] : {std::pair{&block_weights, int64_t{2}},
                                     {&block_weights, 9},
                                     {&palette_weights, 2},
                                     {&palette_weights, 9}}) {
      std::vector<float> x = activations(m * 128, 2);
      for (size_t j = 64; j < 96; ++j) x[j] = extreme == 0 ? 0 : x[j] * 1e-38F;
      x[70] = extreme;
      const auto y = fast_dot(*GetParam(), weights->w, x.data(), m, nullptr);
      const auto reference =
          fast_dot(quantized_dot_scalar, *GetParam(), weights->w, x.data(), m, nullptr);
      for (size_t j = 0; j < y.size(); ++j) {
        if (j < 8 && !std::isfinite(extreme)) {
          EXPECT_TRUE(std::isnan(y[j])) << extreme;
        } else {
          EXPECT_NEAR(y[j], reference[j], 1e-5 * (std::fabs(reference[j]) + 100)) << extreme;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, QuantizeRows, testing::ValuesIn(kernels_here()),
                         [](const auto& test) { return std::string(test.param->name); });

TEST(QuantizedDotChooser, TakesTheBestThatTheCpuHas) {
  CpuFeatures cpu;
  EXPECT_STREQ(choose_quantized_dot(cpu).name, "quantized_dot_scalar");
  EXPECT_EQ(&choose_quantized_dot(detect_cpu()), kernels_here().front());
#if defined(__x86_64__)
  cpu.avx2 = true;
  EXPECT_STREQ(choose_quantized_dot(cpu).name, "quantized_dot_avx2");
  cpu.avx512 = cpu.vnni256 = true;
  EXPECT_STREQ(choose_quantized_dot(cpu).name, "quantized_dot_vnni256");
  cpu.avxvnni = true;
  EXPECT_STREQ(choose_quantized_dot(cpu).name, "quantized_dot_avxvnni");
  cpu.avx512vnni = true;
  EXPECT_STREQ(choose_quantized_dot(cpu).name, "quantized_dot_avx512vnni");
#elif defined(__aarch64__)
  cpu.neon = true;
  EXPECT_STREQ(choose_quantized_dot(cpu).name, "quantized_dot_neon");
  cpu.neondot = true;
  EXPECT_STREQ(choose_quantized_dot(cpu).name, "quantized_dot_neondot");
  cpu.neoni8mm = true;
  EXPECT_STREQ(choose_quantized_dot(cpu).name, "quantized_dot_neoni8mm");
#endif
}

}  // namespace
}  // namespace pippin::kernels
