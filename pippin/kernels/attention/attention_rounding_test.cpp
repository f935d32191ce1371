// Attention over codes of caches, and with queries, keys and weights that are rounded.
#include <cmath>
#include <cstring>
#include <string>
#include <tuple>
#include <vector>

#include "pippin/kernels/attention/attention_testing.h"

namespace pippin::kernels::testing_attention {
namespace {

// The values of a cache are those that its codes mean.
TEST_P(Attention, CodesAreTheirValues) {
  if (!has_codes(kernel().cache) || GetParam().rounds) return;
  for (const int64_t rows : {1, 3, 60}) {
    for (const int64_t dims : {20, 64, 96, 128}) {
      Problem problem(GetParam(), {6, 2, rows, 420, dims, dims}, 14);
      for (size_t i = 0; i < problem.k.size(); i += 97) problem.k[i] *= 40;  // outliers
      for (size_t i = 0; i < problem.v.size(); i += 61) problem.v[i] = 0;
      std::fill_n(problem.k.begin() + 3 * (dims + 1), dims + 1, 0.0f);
      problem.store();
      problem.mask_causally(0, 300);
      const std::vector<float> result = problem.run(kernel());
      Problem plain = problem;
      plain.cache = CacheType::F32;
      for (int64_t i = 0; i < 2 * 420; ++i) {
        const auto& [k, v] = std::tie(problem.k_coded, problem.v_coded);
        for (int64_t d = 0; d < dims; ++d) {
          plain.k[at(i * (dims + 1) + d)] =
              read_code(kernel().cache, &k.codes[at(i * k.stride)],
                        &k.scales[at(i * k.scale_stride)], k.group, dims, d);
          plain.v[at(i * (dims + 2) + d)] =
              read_code(kernel().cache, &v.codes[at(i * v.stride)],
                        &v.scales[at(i * v.scale_stride)], v.group, dims, d);
        }
      }
      expect_close(result, plain.run(choose_attention(CacheType::F32, {})));
    }
  }
}

// Rounded queries and weights: each score is off by at most half a step for each element.
TEST_P(Attention, RoundedQueriesAreClose) {
  if (!has_codes(kernel().cache)) return;
  uint32_t seed = 1;
  for (const Sizes& sizes : kSizes) {
    SCOPED_TRACE(testing::Message() << "case " << seed);
    Problem problem(GetParam(), sizes, seed++);
    for (const bool masked : {false, true}) {
      if (masked && sizes.keys < sizes.rows) continue;
      if (masked) problem.mask_causally(sizes.keys > 700 ? 300 : 0, 400);
      AttentionArgs a = problem.args();
      const std::vector<float> expected = problem.run(reference(), a);
      a.may_round = true;
      const std::vector<float> result = problem.run(kernel(), a);
      for (size_t i = 0; i < result.size(); ++i) ASSERT_NEAR(result[i], expected[i], 0.1) << i;
      EXPECT_TRUE(same_bits(problem.run(kernel(), a, 3), result));
      if (!masked || sizes.rows < 2 || sizes.rows > 7) continue;
      for (int64_t row = 0; row < sizes.rows; ++row) {  // each row alone
        AttentionArgs alone = a;
        alone.rows = 1, alone.q += row * a.q_row_stride, alone.mask += row * a.mask_row_stride;
        alone.out += row * a.out_row_stride;
        const std::vector<float> one = problem.run(kernel(), alone);
        for (int64_t head = 0; head < sizes.heads && sizes.heads <= 12 * sizes.kv_heads; ++head) {
          const size_t place = at(head * a.out_head_stride + row * a.out_row_stride);
          ASSERT_EQ(std::memcmp(&one[place], &result[place], at(problem.sizes.value_dim) * 4), 0)
              << "row " << row << " of head " << head;
        }
      }
    }
  }
}

// Many rounded queries: as if queries, keys and values had been rounded to bf16 before, up to the
// rounding of weights, each by 2^-9 of itself.
TEST_P(Attention, ManyRoundedQueriesAreThoseOfBfloat16) {
  if (!GetParam().rounds || has_codes(kernel().cache)) return;
  const auto round = [](float x) { return to_float(to_bfloat16(x)); };
  uint32_t seed = 1;
  for (const Sizes& sizes : kSizes) {
    if (sizes.rows <= 16 || sizes.keys < sizes.rows) continue;
    SCOPED_TRACE(testing::Message() << "case " << seed);
    Problem problem(GetParam(), sizes, seed++);
    problem.mask_causally(0, 90);
    const std::vector<float> result = problem.run(kernel());
    Problem before = problem;
    before.cache = CacheType::F32;
    AttentionArgs a = before.args();
    for (float& x : before.q) x = round(x * a.scale);
    a.scale = 1;
    const bool halves = kernel().cache == CacheType::F16;
    float largest = 0;
    for (float& x : before.k) x = round(halves ? to_float(to_float16(x)) : x);
    for (float& x : before.v) {
      x = round(halves ? to_float(to_float16(x)) : x);
      largest = std::max(largest, std::abs(x));
    }
    expect_close_within(0x1p-8f * largest, result,
                        before.run(choose_attention(CacheType::F32, {}), a));
  }
}

// A NaN among queries, keys or values reaches the results that depend on it.
TEST_P(Attention, RoundedQueriesKeepNaNs) {
  if (!has_codes(kernel().cache)) return;
  Problem problem(GetParam(), {2, 1, 1, 300, 64, 64}, 15);
  AttentionArgs a = problem.args();
  a.may_round = true;
  problem.q[70] = NAN;  // of head 1
  std::vector<float> result = problem.run(kernel(), a);
  EXPECT_FALSE(std::isnan(result[0]));
  EXPECT_TRUE(std::isnan(result[65]));
  problem.q[70] = 1;
  problem.v[at(7 * 66 + 63)] = kInf;
  problem.store();
  a = problem.args();
  a.may_round = true;
  result = problem.run(kernel(), a);
  EXPECT_TRUE(std::isnan(result[63]));
  EXPECT_EQ(std::isnan(result[0]), kernel().cache == CacheType::Q8);  // one group of 64, or two
}

}  // namespace
}  // namespace pippin::kernels::testing_attention
