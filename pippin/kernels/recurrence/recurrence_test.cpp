#include "pippin/kernels/recurrence/recurrence.h"

#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace pippin::kernels {
namespace {

std::vector<float> numbers(int64_t n, uint32_t seed, float low = -1, float high = 1) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> distribution(low, high);
  std::vector<float> values(static_cast<size_t>(n));
  for (float& value : values) value = distribution(random);
  return values;
}

void expect_near(const std::vector<float>& have, const std::vector<float>& want, float allowed) {
  ASSERT_EQ(have.size(), want.size());
  for (size_t i = 0; i < have.size(); ++i) {
    ASSERT_NEAR(have[i], want[i], allowed * (1 + std::abs(want[i]))) << "element " << i;
  }
}

// The state of some rows and what tokens do to it, with gaps of 3 between all rows.
struct Problem {
  int64_t rows, n, tokens;
  std::vector<float> state, x, keys, queries, decay, steps, rates, y;

  Problem(int64_t r, int64_t size, int64_t t)
      : rows(r),
        n(size),
        tokens(t),
        state(numbers(r * (size + 3), 1)),
        x(numbers(t * (r + 3), 2)),
        keys(numbers(t * (size + 3), 3)),
        queries(numbers(t * (size + 3), 4)),
        decay(numbers(t, 5, 0, 1)),
        steps(numbers(t * (r + 3), 6, 0, 2)),
        rates(numbers(r * (size + 3), 7, -3, 0)),
        y(static_cast<size_t>(t * (r + 3)), -7) {}

  // Tokens [begin, end).
  void run(const RecurrenceKernels& kernels, bool selective, int64_t begin, int64_t end) {
    const int64_t wide = n + 3, long_row = rows + 3;
    const RecurrenceArgs args = {state.data(),
                                 wide,
                                 x.data() + begin * long_row,
                                 long_row,
                                 keys.data() + begin * wide,
                                 queries.data() + begin * wide,
                                 wide,
                                 wide,
                                 y.data() + begin * long_row,
                                 long_row,
                                 rows,
                                 n,
                                 end - begin};
    if (selective) {
      kernels.selective(args, {steps.data() + begin * long_row, long_row, rates.data(), wide});
    } else {
      kernels.decayed(args, decay.data() + begin);
    }
  }
};

class Recurrence : public testing::TestWithParam<const RecurrenceKernels*> {};

TEST_P(Recurrence, RowsAgreeWithTheFormula) {
  for (const bool selective : {false, true}) {
    for (const int64_t rows : {1, 3, 4, 9}) {
      for (const int64_t n : {1, 6, 8, 16, 17, 37, 128, 131}) {
        for (const int64_t tokens : {1, 2, 13}) {
          SCOPED_TRACE(std::to_string(rows) + " rows of " + std::to_string(n) + ", " +
                       std::to_string(tokens) + " tokens");
          Problem want(rows, n, tokens), have(rows, n, tokens);
          want.run(recurrence_scalar, selective, 0, tokens);
          have.run(*GetParam(), selective, 0, tokens);
          expect_near(have.y, want.y, 2e-5f);
          expect_near(have.state, want.state, 2e-5f);
        }
      }
    }
  }
}

TEST_P(Recurrence, ATokenDoesNotDependOnThoseInTheSameCall) {
  for (const bool selective : {false, true}) {
    for (const int64_t n : {6, 16, 128}) {
      Problem whole(7, n, 12), parts(7, n, 12);
      whole.run(*GetParam(), selective, 0, 12);
      for (const auto& [begin, end] : {std::pair{0, 1}, {1, 4}, {4, 12}}) {
        parts.run(*GetParam(), selective, begin, end);
      }
      EXPECT_EQ(std::memcmp(whole.y.data(), parts.y.data(), whole.y.size() * sizeof(float)), 0);
      EXPECT_EQ(
          std::memcmp(whole.state.data(), parts.state.data(), whole.state.size() * sizeof(float)),
          0);
    }
  }
}

TEST_P(Recurrence, ExtremeDecays) {
  Problem one(5, 20, 3);
  one.steps.assign(one.steps.size(), 1e30f);  // exp(-inf) is 0: nothing is kept
  Problem other = one;
  one.run(*GetParam(), true, 0, 3);
  other.state.assign(other.state.size(), 0);
  other.run(*GetParam(), true, 0, 3);
  EXPECT_EQ(one.y, other.y);
  one.decay.assign(one.decay.size(), NAN);
  one.run(*GetParam(), false, 0, 3);
  EXPECT_TRUE(std::isnan(one.y[0]));
}

TEST_P(Recurrence, ElementsAgreeWithTheFormula) {
  for (const int64_t n : {1, 7, 16, 33}) {
    const int64_t tokens = 5, stride = n + 2;
    const auto decay = numbers(tokens * stride, 1, 0, 1), x = numbers(tokens * stride, 2);
    std::vector<float> states[2], results[2];
    const RecurrenceKernels* tables[] = {&recurrence_scalar, GetParam()};
    for (int i = 0; i < 2; ++i) {
      states[i] = numbers(n, 3);
      results[i].assign(static_cast<size_t>(tokens * stride), -7);
      tables[i]->linear({states[i].data(), decay.data(), x.data(), results[i].data(), stride,
                         stride, stride, n, tokens});
    }
    expect_near(results[1], results[0], 1e-6f);
    expect_near(states[1], states[0], 1e-6f);
  }
}

TEST_P(Recurrence, ConvolutionsAgreeWithTheFormula) {
  for (const int64_t n : {1, 7, 16, 33}) {
    for (const int64_t taps : {2, 3, 4}) {
      for (const int64_t tokens : {1, 2, 9}) {
        for (const bool biased : {false, true}) {
          const int64_t stride = n + 2;
          const auto past = numbers(taps * stride, 1), x = numbers(tokens * stride, 2);
          const auto weight = numbers(taps * stride, 3), bias = numbers(n, 4);
          std::vector<float> results[2];
          const RecurrenceKernels* tables[] = {&recurrence_scalar, GetParam()};
          for (int i = 0; i < 2; ++i) {
            results[i].assign(static_cast<size_t>(tokens * stride), -7);
            tables[i]->convolution({past.data(), x.data(), weight.data(),
                                    biased ? bias.data() : nullptr, results[i].data(), stride,
                                    stride, stride, stride, n, taps, tokens});
          }
          expect_near(results[1], results[0], 1e-6f);
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, Recurrence,
                         testing::ValuesIn(runnable(recurrence_kernels(), detect_cpu())),
                         [](const auto& test) { return std::string(test.param->name); });

}  // namespace
}  // namespace pippin::kernels
