#include "pippin/kernels/recurrence/recurrence.h"

#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/base/numbers/float16.h"

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

enum class Kind { Decayed, Selective, Delta, DecayedPass, DeltaPass };
constexpr Kind kKinds[] = {Kind::Decayed, Kind::Selective, Kind::Delta, Kind::DecayedPass,
                           Kind::DeltaPass};
const char* name_of(Kind kind) {
  constexpr const char* kNames[] = {"decayed", "selective", "delta", "decayed pass", "delta pass"};
  return kNames[static_cast<size_t>(kind)];
}

// A state of some rows and its inputs for some tokens, with gaps of 3 between all rows.
struct Problem {
  int64_t rows, n, tokens;
  std::vector<float> state, x, keys, queries, decay, steps, rates, y;
  std::vector<uint16_t> halves;  // used instead of the state if not empty
  std::vector<float> scales;
  bool scaled;  // uses scales and a skip

  Problem(int64_t r, int64_t size, int64_t t)
      : rows(r),
        n(size),
        tokens(t),
        state(numbers(r * (size + 3), 1)),
        x(numbers(t * (r + 3), 2)),
        // Length at most 1, as the delta rule requires.
        keys(numbers(t * (size + 3), 3, -1 / std::sqrt(static_cast<float>(size)),
                     1 / std::sqrt(static_cast<float>(size)))),
        queries(numbers(t * (size + 3), 4)),
        decay(numbers(t, 5, 0, 1)),
        steps(numbers(t * (r + 3), 6, 0, 2)),
        rates(numbers(r * (size + 3), 7, -3, 0)),
        y(static_cast<size_t>(t * (r + 3)), -7),
        scales(numbers(t, 8)),
        scaled(size % 2 == 0) {}

  void use_halves() {
    for (float& value : state) {
      halves.push_back(to_float16(value).bits);
      value = to_float(float16{halves.back()});
    }
  }

  // Tokens [begin, end).
  void run(const RecurrenceKernels& kernels, Kind kind, int64_t begin, int64_t end) {
    const int64_t wide = n + 3, long_row = rows + 3;
    const RecurrenceArgs args = {halves.empty() ? state.data() : nullptr,
                                 halves.empty() ? nullptr : halves.data(),
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
                                 end - begin,
                                 scaled ? scales.data() + begin : nullptr,
                                 scaled ? rates.data() : nullptr};
    const DeltaDecay delta = {decay.data() + begin, steps.data() + begin};
    std::vector<float> scratch(static_cast<size_t>(pass_scratch(n)), NAN);
    switch (kind) {
      case Kind::Decayed:
        return kernels.decayed(args, decay.data() + begin);
      case Kind::Selective:
        return kernels.selective(args,
                                 {steps.data() + begin * long_row, long_row, rates.data(), wide});
      case Kind::Delta:
        return kernels.delta(args, delta);
      case Kind::DecayedPass:
        return kernels.decayed_pass(args, decay.data() + begin, scratch.data());
      case Kind::DeltaPass:
        return kernels.delta_pass(args, delta, scratch.data());
    }
  }
};

class Recurrence : public testing::TestWithParam<const RecurrenceKernels*> {};

TEST_P(Recurrence, RowsAgreeWithTheFormula) {
  for (const Kind kind : kKinds) {
    for (const int64_t rows : {1, 4, 9, 21, 40}) {
      for (const int64_t n : {1, 8, 17, 37, 131}) {
        for (const int64_t tokens : {int64_t{1}, int64_t{2}, int64_t{n == 37 ? 130 : 13}}) {
          SCOPED_TRACE(std::string(name_of(kind)) + ", " + std::to_string(rows) + " rows of " +
                       std::to_string(n) + ", " + std::to_string(tokens) + " tokens");
          Problem want(rows, n, tokens), have(rows, n, tokens);
          want.run(recurrence_scalar, kind, 0, tokens);
          have.run(*GetParam(), kind, 0, tokens);
          expect_near(have.y, want.y, 4e-5f);
          expect_near(have.state, want.state, 4e-5f);
        }
      }
    }
  }
}

TEST_P(Recurrence, StatesInHalvesAgreeWithTheFormula) {
  for (const Kind kind : {Kind::Decayed, Kind::Selective, Kind::Delta}) {
    for (const int64_t rows : {1, 4, 6}) {
      for (const int64_t n : {1, 8, 17, 128, 131}) {
        SCOPED_TRACE(std::string(name_of(kind)) + ", " + std::to_string(n));
        Problem want(rows, n, 1), have(rows, n, 1);
        want.use_halves();
        have.use_halves();
        want.run(recurrence_scalar, kind, 0, 1);
        have.run(*GetParam(), kind, 0, 1);
        expect_near(have.y, want.y, 4e-5f);
        for (size_t i = 0; i < want.halves.size(); ++i) {
          const float value = to_float(float16{want.halves[i]});
          ASSERT_NEAR(to_float(float16{have.halves[i]}), value, 1e-3f * (0.01f + std::abs(value)));
        }
      }
    }
  }
}

TEST_P(Recurrence, ATokenDoesNotDependOnThoseInTheSameCall) {
  for (const Kind kind : {Kind::Decayed, Kind::Selective, Kind::Delta}) {
    for (const int64_t n : {6, 16, 128}) {
      Problem whole(7, n, 12), parts(7, n, 12);
      whole.run(*GetParam(), kind, 0, 12);
      for (const auto& [begin, end] : {std::pair{0, 1}, {1, 4}, {4, 12}}) {
        parts.run(*GetParam(), kind, begin, end);
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
  one.steps.assign(one.steps.size(), 1e30f);  // exp(-inf) is 0: the state is forgotten
  Problem other = one;
  one.run(*GetParam(), Kind::Selective, 0, 3);
  other.state.assign(other.state.size(), 0);
  other.run(*GetParam(), Kind::Selective, 0, 3);
  EXPECT_EQ(one.y, other.y);
  for (const Kind kind : {Kind::Decayed, Kind::Delta, Kind::DecayedPass, Kind::DeltaPass}) {
    one.decay.assign(one.decay.size(), NAN);
    one.run(*GetParam(), kind, 0, 3);
    EXPECT_TRUE(std::isnan(one.y[0])) << name_of(kind);
  }
}

// Decays that passes factor out of the products: they leave the allowed range in every way, inside
// a block of tokens and across blocks.
TEST_P(Recurrence, PassesOfUglyDecays) {
  const std::vector<std::vector<float>> patterns = {
      {0},        {1},     {1, 0},    {1e-38f, 1},        {1e-4f}, {1e-12f, 0.5f, 1e-30f},
      {0.03125f}, {1.01f}, {2, 0.4f}, {1e-45f, 1e-20f, 1}};
  for (const Kind kind : {Kind::DecayedPass, Kind::DeltaPass}) {
    for (const auto& pattern : patterns) {
      SCOPED_TRACE(std::string(name_of(kind)) + ", " + std::to_string(pattern[0]));
      Problem want(18, 24, 100), have(18, 24, 100);
      for (size_t t = 0; t < 100; ++t) {
        want.decay[t] = have.decay[t] = pattern[t % pattern.size()];
        // Rates that keep the rule stable.
        want.steps[t] = have.steps[t] = static_cast<float>(t % 5) / 5;
      }
      want.run(recurrence_scalar, kind, 0, 100);
      have.run(*GetParam(), kind, 0, 100);
      expect_near(have.y, want.y, 1e-4f);
      expect_near(have.state, want.state, 1e-4f);
    }
  }
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
          const bool silu = tokens == 2;
          const int64_t stride = n + 2;
          const auto past = numbers(taps * stride, 1), x = numbers(tokens * stride, 2);
          const auto weight = numbers(taps * stride, 3), bias = numbers(n, 4);
          std::vector<float> results[2];
          const RecurrenceKernels* tables[] = {&recurrence_scalar, GetParam()};
          for (int i = 0; i < 2; ++i) {
            results[i].assign(static_cast<size_t>(tokens * stride), -7);
            tables[i]->convolution({past.data(), x.data(), weight.data(),
                                    biased ? bias.data() : nullptr, results[i].data(), stride,
                                    stride, stride, stride, n, taps, tokens, silu});
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
