#include "pippin/kernels/attention/attention.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <string>
#include <vector>

#include "pippin/kernels/attention/attention_testing.h"

namespace pippin::kernels::testing_attention {
namespace {

TEST_P(Attention, AgreesWithTheReferenceOnOddSizes) {
  uint32_t seed = 1;
  for (const Sizes& sizes : kSizes) {
    SCOPED_TRACE(testing::Message() << "case " << seed);
    Problem problem(GetParam(), sizes, seed++);
    expect_close(problem.run(kernel()), problem.run(reference()));
    if (sizes.keys >= sizes.rows) {
      problem.mask_causally();
      expect_close(problem.run(kernel()), problem.run(reference()));
    }
    std::mt19937 random(seed);
    for (float& value : problem.mask) value = random() % 3 == 0 ? -kInf : -0.5f;
    for (size_t i = 0; i < problem.mask.size(); i += at(sizes.keys)) {
      problem.mask[i] = 0;  // every row sees something
    }
    expect_close(problem.run(kernel()), problem.run(reference()));
  }
}

// Sinks among the scores, far above and far below them.
TEST_P(Attention, SinksTakePartInTheSoftmax) {
  uint32_t seed = 1;
  for (const Sizes& sizes : kSizes) {
    SCOPED_TRACE(testing::Message() << "case " << seed);
    Problem problem(GetParam(), sizes, seed++);
    std::vector<float> sinks(at(sizes.heads));
    const float kinds[] = {0.5f, -1.0f, 3.0f, 90.0f, -90.0f, -kInf};
    for (size_t i = 0; i < sinks.size(); ++i) sinks[i] = kinds[(i + seed) % std::size(kinds)];
    AttentionArgs a = problem.args();
    a.sinks = sinks.data();
    const std::vector<float> result = problem.run(kernel(), a);
    expect_close(result, problem.run(reference(), a));
    EXPECT_TRUE(same_bits(problem.run(kernel(), a, 3), result));
    a.sinks = nullptr;
    // Sinks of all kinds.
    if (sizes.heads >= 6) {
      EXPECT_FALSE(same_bits(problem.run(reference(), a), result));
    }
    if (sizes.keys < sizes.rows) continue;
    problem.mask_causally(0, 100);
    a = problem.args();
    a.sinks = sinks.data();
    expect_close(problem.run(kernel(), a), problem.run(reference(), a));
  }
}

// The promise in attention.h.
TEST_P(Attention, BitsDoNotDependOnTheNumberOfThreads) {
  uint32_t seed = 1;
  for (const Sizes& sizes : kSizes) {
    SCOPED_TRACE(testing::Message() << "case " << seed);
    Problem problem(GetParam(), sizes, seed++);
    for (const bool masked : {false, true}) {
      if (masked && sizes.keys < sizes.rows) continue;
      if (masked) problem.mask_causally(sizes.keys > 700 ? 300 : 0, 400);
      const std::vector<float> expected = problem.run(kernel());
      for (const int threads : {2, 3, 4}) {
        EXPECT_TRUE(same_bits(problem.run(kernel(), threads), expected)) << threads << " threads";
      }
    }
  }
}

TEST_P(Attention, BitsDoNotDependOnEmptySlots) {
  for (const int64_t rows : {1, 37}) {
    Problem whole(GetParam(), {8, 2, rows, 900, 64, 80}, 3);
    whole.mask_causally(300);
    const std::vector<float> expected = whole.run(kernel());
    AttentionArgs shorter = whole.args();  // without the keys that no row sees
    shorter.keys = 600;
    EXPECT_TRUE(same_bits(whole.run(kernel(), shorter), expected));
  }
}

// Tokens fed together have the same bits as tokens fed one by one, before the later keys exist.
TEST_P(Attention, AFewRowsHaveTheBitsOfEachAlone) {
  struct Case {
    int64_t group, rows, keys, window;
    bool k_turned = false, v_turned = false;  // transposed: an element's keys are contiguous
  };
  for (const Case& one :
       {Case{1, 16, 300, 1 << 30}, Case{1, 5, 515, 300}, Case{2, 9, 258, 1 << 30},
        Case{4, 16, 1040, 260}, Case{5, 3, 700, 1 << 30}, Case{8, 4, 260, 1 << 30},
        Case{12, 16, 600, 1 << 30}, Case{16, 7, 520, 200}, Case{1, 8, 300, 1 << 30, true, true},
        Case{4, 16, 515, 260, true, true}, Case{1, 16, 300, 1 << 30, true},
        Case{4, 5, 515, 260, true}, Case{16, 7, 520, 200, true}}) {
    SCOPED_TRACE(testing::Message() << one.rows << " rows, groups of " << one.group);
    if (has_codes(kernel().cache) && (one.k_turned || one.v_turned)) continue;
    Problem problem(GetParam(), {2 * one.group, 2, one.rows, one.keys, 40, 72}, 13);
    problem.mask_causally(0, one.window);
    AttentionArgs a = problem.args();
    if (one.k_turned) {
      a.k_dim_stride = one.keys, a.k_key_stride = 1, a.k_head_stride = one.keys * 40;
    }
    if (one.v_turned) {
      a.v_dim_stride = one.keys, a.v_key_stride = 1, a.v_head_stride = one.keys * 72;
    }
    const std::vector<float> together = problem.run(kernel(), a, 2);
    for (int64_t row = 0; row < one.rows; ++row) {
      AttentionArgs alone = a;
      alone.rows = 1, alone.keys = one.keys - one.rows + row + 1;
      alone.q += row * a.q_row_stride, alone.mask += row * a.mask_row_stride;
      alone.out += row * a.out_row_stride;
      const std::vector<float> result = problem.run(kernel(), alone);
      for (int64_t head = 0; head < 2 * one.group; ++head) {
        const size_t place = at(head * a.out_head_stride + row * a.out_row_stride);
        ASSERT_EQ(std::memcmp(&result[place], &together[place], 72 * sizeof(float)), 0)
            << "row " << row << " of head " << head;
      }
    }
  }
}

TEST_P(Attention, WhatNoRowSeesIsNotRead) {
  for (const int64_t rows : {2, 20}) {
    Problem problem(GetParam(), {4, 2, rows, 1400, 32, 32}, 4);
    problem.mask_causally(400, 300);
    for (int64_t head = 0; head < 2; ++head) {
      for (int64_t key = 0; key < 1400; ++key) {
        if (key < 1000 && key > 1000 - rows - 300) continue;
        std::fill_n(&problem.k[at((head * 1400 + key) * 33)], 33, NAN);
        std::fill_n(&problem.v[at((head * 1400 + key) * 34)], 34, NAN);
      }
    }
    problem.store();
    for (const int threads : {1, 3}) {
      const std::vector<float> result = problem.run(kernel(), threads);
      for (const float value : result) ASSERT_FALSE(std::isnan(value));
      expect_close(result, problem.run(reference()));
    }
  }
}

// Keys with a large negative mask have weight exactly 0 next to others, but normal weights among
// themselves.
TEST_P(Attention, FiniteMasks) {
  for (const float hidden : {-1e4f, -65504.0f, -1e9f, -3.4e38f}) {
    for (const int64_t rows : {1, 3, 50}) {
      Problem problem(GetParam(), {4, 2, rows, 800, 24, 32}, 8);
      problem.mask_causally(200);
      const std::vector<float> expected = problem.run(kernel());
      problem.mask_causally(200, 1 << 30, hidden);
      for (const int threads : {1, 2}) {
        EXPECT_TRUE(same_bits(problem.run(kernel(), threads), expected)) << hidden;
      }
      problem.mask_causally(0, 300);
      const std::vector<float> windowed = problem.run(kernel());
      problem.mask_causally(0, 300, hidden);
      EXPECT_TRUE(same_bits(problem.run(kernel()), windowed)) << hidden;
      std::fill(problem.mask.begin(), problem.mask.end(), hidden);  // all keys hidden
      if (hidden == -1e4f) {
        // Sums of scores and masks are rounded to 2^-10.
        const std::vector<float> all = problem.run(kernel()), slow = problem.run(reference());
        for (size_t i = 0; i < all.size(); ++i)
          ASSERT_NEAR(all[i], slow[i], std::max(2e-3f, tolerance()));
      }
    }
  }
}

TEST_P(Attention, ExtremeScores) {
  for (const int64_t heads : {2, 20}) {
    Problem problem(GetParam(), {heads, 1, 4, 300, 16, 16}, 5);
    problem.mask.assign(4 * 300, 0.0f);
    std::fill_n(problem.mask.begin(), 300, -kInf);  // all excluded: NaN
    problem.mask[300 + 7] = NAN;                    // row 1: NaN
    problem.mask[600 + 299] = kInf;                 // row 2: NaN
    problem.mask[900 + 270] = 1e30f;                // row 3 sees one key only
    const std::vector<float> result = problem.run(kernel());
    expect_close(result, problem.run(reference()));
    EXPECT_TRUE(std::isnan(result[0]));
    EXPECT_TRUE(std::isnan(result[17]));
    EXPECT_TRUE(std::isnan(result[34]));
    const float only = problem.v[270 * 18];
    EXPECT_NEAR(result[51], only, kernel().cache == CacheType::Q4 ? 0.3 : 2e-2);
    if (!has_codes(kernel().cache)) {
      EXPECT_NEAR(result[51], only, GetParam().rounds ? 1e-2 : 2e-3);
    }
    std::fill(problem.mask.begin(), problem.mask.end(), -kInf);
    for (const int threads : {1, 2}) {
      const std::vector<float> nothing = problem.run(kernel(), threads);
      EXPECT_TRUE(std::isnan(nothing[0]));
      expect_close(nothing, problem.run(reference()));
    }
  }
}

TEST_P(Attention, NothingToDo) {
  Problem problem(GetParam(), {2, 1, 3, 4, 8, 8}, 12);
  AttentionArgs a = problem.args();
  a.rows = 0;
  for (const float value : problem.run(kernel(), a, 2)) ASSERT_EQ(value, kUntouched);
  a = problem.args();
  a.heads = a.kv_heads = 0;
  for (const float value : problem.run(kernel(), a, 2)) ASSERT_EQ(value, kUntouched);
  a = problem.args();
  a.keys = 0;  // as if all are excluded
  EXPECT_TRUE(std::isnan(problem.run(kernel(), a, 2)[0]));
}
TEST_P(Attention, MasksPerHead) {
  for (const int64_t rows : {1, 3, 21}) {
    Problem problem(GetParam(), {6, 2, rows, 530, 24, 24}, 6);
    problem.mask.assign(at(6 * rows * 530), 0.0f);
    std::mt19937 random(7);
    for (float& value : problem.mask) value = random() % 2 == 0 ? -kInf : 1.0f;
    AttentionArgs a = problem.args();
    a.mask_head_stride = rows * 530;
    const std::vector<float> expected = problem.run(reference(), a);
    for (const int threads : {1, 2, 3}) expect_close(problem.run(kernel(), a, threads), expected);
  }
}

TEST_P(Attention, SoftCap) {
  for (const int64_t rows : {1, 30}) {
    Problem problem(GetParam(), {4, 2, rows, 310, 24, 24}, 9);
    problem.mask_causally();
    AttentionArgs a = problem.args();
    a.scale = 3;
    a.softcap = 2.5f;
    expect_close(problem.run(kernel(), a), problem.run(reference(), a));
  }
}

// Channels-first, as caches of the Neural Engine's form are; masks by key.
TEST_P(Attention, OtherOrdersOfAxes) {
  if (has_codes(kernel().cache)) return;  // rows of codes have one order
  for (const int64_t rows : {1, 16, 64, 70}) {
    for (const int64_t dims : {16, 33}) {
      const Sizes s = {4, 2, rows, 300, dims, dims};
      Problem problem(GetParam(), s, 10);
      AttentionArgs a = problem.args();
      a.q_dim_stride = rows, a.q_row_stride = 1, a.q_head_stride = rows * dims;
      a.k_dim_stride = s.keys + 1, a.k_key_stride = 1, a.k_head_stride = (s.keys + 1) * dims;
      std::vector<float> by_key(at(s.keys * rows));
      std::mt19937 random(11);
      for (float& value : by_key) value = random() % 3 == 0 ? -kInf : 0.25f;
      std::fill_n(by_key.begin(), rows * 70, -kInf);
      std::fill_n(by_key.end() - rows * 20, rows * 20, -kInf);
      a.mask = by_key.data(), a.mask_key_stride = rows, a.mask_row_stride = 1;
      // Values in both layouts.
      for (const bool turned : {false, true}) {
        if (turned) {
          a.v_dim_stride = s.keys, a.v_key_stride = 1, a.v_head_stride = s.keys * dims;
          a.out_dim_stride = rows, a.out_row_stride = 1, a.out_head_stride = rows * dims;
        }
        const std::vector<float> expected = problem.run(reference(), a);
        for (const int threads : {1, 2}) {
          expect_close(problem.run(kernel(), a, threads), expected);
        }
      }
    }
  }
}

TEST(SummarizeMask, HasTheExtremesOfEachChunk) {
  std::vector<float> mask(2 * 600, -1.0f);
  mask[3] = 5;
  mask[300] = -kInf;
  mask[599] = NAN;
  mask[600 + 260] = 2;
  ThreadPool pool(2);
  std::vector<float> summary(2 * 3 * 2, 77.0f);
  summarize_mask(pool, {mask.data(), 0, 600, 1, 1, 2, 600, summary.data(), 0, 6});
  const std::vector<float> expected = {-1, 5, -kInf, -1, -kInf, kInf, -1, -1, -1, 2, -1, -1};
  EXPECT_EQ(summary, expected);
  // The same mask by key.
  std::vector<float> by_key(1200);
  for (size_t i = 0; i < 600; ++i) by_key[2 * i] = mask[i], by_key[2 * i + 1] = mask[600 + i];
  std::fill(summary.begin(), summary.end(), 77.0f);
  summarize_mask(pool, {by_key.data(), 0, 1, 2, 1, 2, 600, summary.data(), 0, 6});
  EXPECT_EQ(summary, expected);
}

INSTANTIATE_TEST_SUITE_P(Kernels, Attention, testing::ValuesIn(kernels_here()),
                         [](const auto& test) {
                           return std::string(test.param.kernel.name) +
                                  (test.param.rounds ? "_rounded" : "");
                         });

}  // namespace
}  // namespace pippin::kernels::testing_attention
