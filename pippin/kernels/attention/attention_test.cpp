#include "pippin/kernels/attention/attention.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/base/float16.h"
#include "pippin/base/thread_pool.h"

namespace pippin::kernels {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kUntouched = -12345.0f;

struct Sizes {
  int64_t heads, kv_heads, rows, keys, head_dim, value_dim;
};

// Random q, k, v with their own exactly sized memory; strides have gaps.
struct Problem {
  Problem(CacheType cache_type, const Sizes& s, uint32_t seed) : cache(cache_type), sizes(s) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    const auto fill = [&](std::vector<float>& values, int64_t count) {
      values.resize(static_cast<size_t>(count));
      for (float& value : values) value = normal(random);
    };
    fill(q, s.heads * s.rows * s.head_dim);
    fill(k, s.kv_heads * s.keys * (s.head_dim + 1));
    fill(v, s.kv_heads * s.keys * (s.value_dim + 2));
    out.assign(static_cast<size_t>(s.heads * s.rows * (s.value_dim + 1)), kUntouched);
    store();
  }

  // Call after changing k or v.
  void store() {
    const auto convert = [](const std::vector<float>& from, std::vector<uint16_t>& to) {
      to.resize(from.size());
      for (size_t i = 0; i < from.size(); ++i) to[i] = to_float16(from[i]).bits;
    };
    convert(k, k_half);
    convert(v, v_half);
  }

  // Row r sees the keys up to keys - rows + r - empty.
  void mask_causally(int64_t empty = 0) {
    mask.assign(static_cast<size_t>(sizes.rows * sizes.keys), 0.0f);
    for (int64_t r = 0; r < sizes.rows; ++r) {
      for (int64_t key = 0; key < sizes.keys; ++key) {
        if (key > sizes.keys - sizes.rows + r - empty) {
          mask[static_cast<size_t>(r * sizes.keys + key)] = -kInf;
        }
      }
    }
  }

  AttentionArgs args() {
    const Sizes& s = sizes;
    const bool half = cache == CacheType::F16;
    AttentionArgs a = {};
    a.q = q.data(), a.q_head_stride = s.head_dim, a.q_row_stride = s.heads * s.head_dim;
    a.k = half ? static_cast<const void*>(k_half.data()) : k.data();
    a.k_row_stride = s.head_dim + 1, a.k_head_stride = s.keys * a.k_row_stride;
    a.v = half ? static_cast<const void*>(v_half.data()) : v.data();
    a.v_row_stride = s.value_dim + 2, a.v_head_stride = s.keys * a.v_row_stride;
    a.mask = mask.empty() ? nullptr : mask.data();
    a.mask_row_stride = s.keys;
    a.out = out.data(), a.out_row_stride = s.value_dim + 1;
    a.out_head_stride = s.rows * a.out_row_stride;
    a.heads = s.heads, a.kv_heads = s.kv_heads, a.rows = s.rows, a.keys = s.keys;
    a.head_dim = s.head_dim, a.value_dim = s.value_dim;
    a.scale = 1 / std::sqrt(static_cast<float>(s.head_dim));
    return a;
  }

  std::vector<float> run(const AttentionKernel& kernel) {
    const AttentionArgs a = args();
    std::vector<float> scratch(static_cast<size_t>(attention_scratch_floats(a)), NAN);
    std::fill(out.begin(), out.end(), kUntouched);
    kernel.function(a, {0, a.heads, 0, a.rows}, scratch.data());
    return out;
  }

  CacheType cache;
  Sizes sizes;
  std::vector<float> q, k, v, mask, out;
  std::vector<uint16_t> k_half, v_half;
};

void expect_close(const std::vector<float>& result, const std::vector<float>& expected) {
  ASSERT_EQ(result.size(), expected.size());
  for (size_t i = 0; i < result.size(); ++i) {
    if (std::isnan(expected[i])) {
      ASSERT_TRUE(std::isnan(result[i])) << "at " << i << ": " << result[i];
    } else {
      ASSERT_NEAR(result[i], expected[i], 2e-5) << "at " << i;
    }
  }
}

std::vector<AttentionKernel> kernels_here() {
  std::vector<AttentionKernel> kernels;
  for (const AttentionKernel& kernel : attention_kernels()) {
    if (can_run(kernel.needs, detect_cpu())) kernels.push_back(kernel);
  }
  return kernels;
}

class Attention : public testing::TestWithParam<AttentionKernel> {
 protected:
  const AttentionKernel& kernel() const { return GetParam(); }
  const AttentionKernel& reference() const { return choose_attention(kernel().cache, {}); }
};

TEST_P(Attention, AgreesWithTheReferenceOnOddSizes) {
  const Sizes cases[] = {
      {1, 1, 1, 1, 1, 1},        {2, 2, 1, 3, 8, 8},      {4, 2, 1, 17, 16, 16},
      {8, 1, 1, 300, 64, 64},    {3, 1, 5, 33, 20, 12},   {6, 2, 7, 64, 80, 96},
      {30, 1, 2, 40, 17, 33},    {4, 4, 40, 257, 32, 70}, {8, 2, 30, 520, 64, 64},
      {14, 2, 4, 255, 128, 128}, {1, 1, 25, 256, 5, 131},
  };
  uint32_t seed = 1;
  for (const Sizes& sizes : cases) {
    SCOPED_TRACE(testing::Message() << "case " << seed);
    Problem problem(kernel().cache, sizes, seed++);
    expect_close(problem.run(kernel()), problem.run(reference()));
    problem.mask_causally();
    if (sizes.keys >= sizes.rows) {
      expect_close(problem.run(kernel()), problem.run(reference()));
    }
    std::mt19937 random(seed);
    for (float& value : problem.mask) value = random() % 3 == 0 ? -kInf : -0.5f;
    for (size_t i = 0; i < problem.mask.size(); i += static_cast<size_t>(sizes.keys)) {
      problem.mask[i] = 0;  // every row sees something
    }
    expect_close(problem.run(kernel()), problem.run(reference()));
  }
}

// The promise in attention.h.
TEST_P(Attention, BitsDoNotDependOnTheSplitOrOnEmptySlots) {
  Problem whole(kernel().cache, {8, 2, 37, 600, 64, 80}, 3);
  whole.mask_causally(5);
  const std::vector<float> expected = whole.run(kernel());
  const AttentionArgs a = whole.args();
  std::vector<float> scratch(static_cast<size_t>(attention_scratch_floats(a)) * 3);
  for (const int threads : {1, 2, 3}) {
    ThreadPool pool(threads);
    std::fill(whole.out.begin(), whole.out.end(), kUntouched);
    attention(pool, kernel(), a, scratch.data());
    EXPECT_EQ(whole.out, expected) << threads << " threads";
  }
  for (const int64_t step : {1, 2, 3, 5}) {  // heads and rows one by one, then in odd groups
    std::fill(whole.out.begin(), whole.out.end(), kUntouched);
    for (int64_t head = 0; head < a.heads; head += step) {
      for (int64_t row = 0; row < a.rows; row += step) {
        kernel().function(a,
                          {head, std::min(a.heads, head + step), row, std::min(a.rows, row + step)},
                          scratch.data());
      }
    }
    EXPECT_EQ(whole.out, expected) << "in steps of " << step;
  }
  // Without the keys that no row sees.
  AttentionArgs shorter = a;
  shorter.keys = 595;
  std::fill(whole.out.begin(), whole.out.end(), kUntouched);
  kernel().function(shorter, {0, a.heads, 0, a.rows}, scratch.data());
  EXPECT_EQ(whole.out, expected);
}

TEST_P(Attention, EmptySlotsAreNotRead) {
  Problem problem(kernel().cache, {4, 2, 2, 700, 32, 32}, 4);
  problem.mask_causally(400);
  for (int64_t head = 0; head < 2; ++head) {
    for (int64_t key = 300; key < 700; ++key) {
      std::fill_n(&problem.k[static_cast<size_t>((head * 700 + key) * 33)], 33, NAN);
      std::fill_n(&problem.v[static_cast<size_t>((head * 700 + key) * 34)], 34, NAN);
    }
  }
  problem.store();
  const std::vector<float> result = problem.run(kernel());
  for (const float value : result) EXPECT_FALSE(std::isnan(value));
  expect_close(result, problem.run(reference()));
}

TEST_P(Attention, ExtremeScores) {
  Problem problem(kernel().cache, {2, 1, 4, 300, 16, 16}, 5);
  problem.mask.assign(4 * 300, 0.0f);
  std::fill_n(problem.mask.begin(), 300, -kInf);  // row 0 sees nothing: NaN
  problem.mask[300 + 7] = NAN;                    // row 1: NaN
  problem.mask[600 + 299] = kInf;                 // row 2: NaN
  problem.mask[900 + 270] = 1e30f;                // row 3 sees one key only
  const std::vector<float> result = problem.run(kernel());
  expect_close(result, problem.run(reference()));
  EXPECT_TRUE(std::isnan(result[0]));
  EXPECT_TRUE(std::isnan(result[17]));
  EXPECT_TRUE(std::isnan(result[34]));
  EXPECT_NEAR(result[51], problem.v[270 * 18], 2e-3);
}

TEST_P(Attention, MasksPerHead) {
  Problem problem(kernel().cache, {6, 2, 3, 50, 24, 24}, 6);
  problem.mask.assign(6 * 3 * 50, 0.0f);
  std::mt19937 random(7);
  for (float& value : problem.mask) value = random() % 2 == 0 ? -kInf : 1.0f;
  AttentionArgs a = problem.args();
  a.mask_head_stride = 150;
  std::vector<float> scratch(static_cast<size_t>(attention_scratch_floats(a)));
  kernel().function(a, {0, 6, 0, 3}, scratch.data());
  const std::vector<float> result = problem.out;
  reference().function(a, {0, 6, 0, 3}, scratch.data());
  expect_close(result, problem.out);
}

INSTANTIATE_TEST_SUITE_P(Kernels, Attention, testing::ValuesIn(kernels_here()),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace pippin::kernels
