#include "pippin/runtime/sampling/sampler.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/testing.h"
#include "pippin/runtime/sampling/random.h"

namespace pippin::runtime {
namespace {

// Logits whose softmax is `probabilities`.
std::vector<float> logits_of(const std::vector<double>& probabilities) {
  std::vector<float> logits;
  for (const double p : probabilities) logits.push_back(static_cast<float>(std::log(p)));
  return logits;
}

void expect_distribution(const SamplingOptions& options, const std::vector<float>& logits,
                         const std::vector<double>& expected,
                         const std::vector<int32_t>& seen = {}) {
  Sampler sampler(options);
  sampler.observe(seen);
  const auto actual = sampler.distribution(logits);
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(actual[i], expected[i], 1e-6) << i;
}

TEST(Sampler, GreedyTakesTheFirstOfTheLargest) {
  Sampler sampler({});
  EXPECT_EQ(sampler.sample(std::vector<float>{-1, 3, 2, 3}), 1);
}

TEST(Sampler, TemperatureSharpensAndFlattens) {
  const auto logits = logits_of({0.5, 0.3, 0.2});
  expect_distribution({.temperature = 1}, logits, {0.5, 0.3, 0.2});
  // p^2 up to a factor: 0.25, 0.09, 0.04 of 0.38.
  expect_distribution({.temperature = 0.5}, logits, {0.25 / 0.38, 0.09 / 0.38, 0.04 / 0.38});
  expect_distribution({.temperature = 1e-300}, logits, {1, 0, 0});
}

TEST(Sampler, TopKKeepsTiesOfTheLast) {
  expect_distribution({.temperature = 1, .top_k = 2}, logits_of({0.1, 0.4, 0.2, 0.3}),
                      {0, 0.4 / 0.7, 0, 0.3 / 0.7});
  expect_distribution(
      {.temperature = 1, .top_k = 2}, {1, 2, 1, 0},
      {1 / (2 + std::exp(1)), std::exp(1) / (2 + std::exp(1)), 1 / (2 + std::exp(1)), 0});
  expect_distribution({.temperature = 1, .top_k = 9}, logits_of({0.6, 0.4}), {0.6, 0.4});
}

// Those that a device finds give the tokens that all logits give.
TEST(Sampler, TheMostLikelyTokensAreEnoughForTopK) {
  SamplingOptions options{.temperature = 0.8, .top_k = 5, .top_p = 0.9, .min_p = 0.01, .seed = 4};
  EXPECT_TRUE(options.is_plain_top_k());
  options.xtc_probability = 0.3;
  options.mirostat_tau = 3;
  EXPECT_TRUE(options.is_plain_top_k());
  Sampler all(options), some(options);
  RandomGenerator random(1);
  std::vector<float> logits(200);
  for (int step = 0; step < 50; ++step) {
    std::vector<Candidate> most_likely;
    for (size_t i = 0; i < logits.size(); ++i) {
      logits[i] = static_cast<float>(std::floor(random.uniform() * 40) / 4);  // with ties
      if (logits[i] > 5) most_likely.push_back({static_cast<int32_t>(i), double{logits[i]}});
    }
    EXPECT_EQ(some.sample_most_likely(most_likely), all.sample(logits)) << step;
  }
}

TEST(Sampler, OtherOptionsNeedAllLogits) {
  EXPECT_FALSE(SamplingOptions{.temperature = 1}.is_plain_top_k());
  EXPECT_FALSE(SamplingOptions{.top_k = 3}.is_plain_top_k());
  EXPECT_TRUE((SamplingOptions{.temperature = 1, .top_k = kMostLikely}.is_plain_top_k()));
  EXPECT_FALSE((SamplingOptions{.temperature = 1, .top_k = kMostLikely + 1}.is_plain_top_k()));
  EXPECT_FALSE(
      (SamplingOptions{.temperature = 1, .top_k = 3, .repetition_penalty = 1.1}.is_plain_top_k()));
  EXPECT_FALSE((SamplingOptions{.temperature = 1, .top_k = 3, .suppressed = {4}}.is_plain_top_k()));
}

TEST(Sampler, TopPKeepsTheFewestThatReachIt) {
  const auto logits = logits_of({0.1, 0.4, 0.2, 0.3});
  expect_distribution({.temperature = 1, .top_p = 0.65}, logits, {0, 0.4 / 0.7, 0, 0.3 / 0.7});
  expect_distribution({.temperature = 1, .top_p = 0.75}, logits,
                      {0, 0.4 / 0.9, 0.2 / 0.9, 0.3 / 0.9});
  expect_distribution({.temperature = 1, .top_p = 0.01}, logits, {0, 1, 0, 0});
  // Four equal tokens: two suffice.
  expect_distribution({.temperature = 1, .top_p = 0.5}, {0, 0, 0, 0}, {0.5, 0.5, 0, 0});
}

TEST(Sampler, TopPSeesWhatTopKLeft) {
  // After top-k 2 the probabilities are 4/7 and 3/7: 4/7 alone reaches 0.55.
  expect_distribution({.temperature = 1, .top_k = 2, .top_p = 0.55},
                      logits_of({0.1, 0.4, 0.2, 0.3}), {0, 1, 0, 0});
}

TEST(Sampler, MinPIsRelativeToTheMostLikely) {
  expect_distribution({.temperature = 1, .min_p = 0.6}, logits_of({0.1, 0.4, 0.2, 0.3}),
                      {0, 0.4 / 0.7, 0, 0.3 / 0.7});
}

TEST(Sampler, RepetitionPenaltyPullsSeenTokensDownOnce) {
  // 2 / 2 = 1 and -1 * 2 = -2; unseen tokens keep their logits.
  const double total = std::exp(1) + std::exp(-2) + std::exp(0.5);
  expect_distribution({.temperature = 1, .repetition_penalty = 2}, {2, -1, 0.5},
                      {std::exp(1) / total, std::exp(-2) / total, std::exp(0.5) / total},
                      {0, 1, 0, 1});
  Sampler greedy({.repetition_penalty = 2});
  const std::vector<float> logits = {1.0f, 0.9f, 0.1f};
  EXPECT_EQ(greedy.sample(logits), 0);
  EXPECT_EQ(greedy.sample(logits), 1);  // 0 counts as seen: 0.5
  EXPECT_EQ(greedy.sample(logits), 0);  // 0.5 against 0.45
}

TEST(Sampler, FrequenciesFollowTheDistribution) {
  const std::vector<double> expected = {0.5, 0.25, 0.15, 0.1};
  const auto logits = logits_of(expected);
  Sampler sampler({.temperature = 1, .seed = 7});
  const int draws = 100000;
  std::vector<int> counts(expected.size());
  for (int i = 0; i < draws; ++i) ++counts[static_cast<size_t>(sampler.sample(logits))];
  double chi_squared = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    const double difference = counts[i] - expected[i] * draws;
    chi_squared += difference * difference / (expected[i] * draws);
  }
  EXPECT_LT(chi_squared, 16.27);  // 3 degrees of freedom, p = 0.001
}

TEST(Sampler, SameSeedSameTokens) {
  const auto logits = logits_of({0.4, 0.3, 0.2, 0.1});
  const auto draw = [&](uint64_t seed) {
    Sampler sampler({.temperature = 1, .seed = seed});
    std::vector<int32_t> ids;
    for (int i = 0; i < 50; ++i) ids.push_back(sampler.sample(logits));
    return ids;
  };
  EXPECT_EQ(draw(1), draw(1));
  EXPECT_NE(draw(1), draw(2));
}

TEST(Sampler, RandomNumbersAreTheSameEverywhere) {
  // xoshiro256** from the state that splitmix64 derives from seed 0.
  RandomGenerator random(0);
  EXPECT_EQ(random.next(), 0x99ec5f36cb75f2b4u);
  EXPECT_EQ(random.next(), 0xbf6e1f784956452au);
  double sum = 0;
  for (int i = 0; i < 10000; ++i) {
    const double value = random.uniform();
    ASSERT_GE(value, 0);
    ASSERT_LT(value, 1);
    sum += value;
  }
  EXPECT_NEAR(sum / 10000, 0.5, 0.02);
}

TEST(Sampler, RefusesBrokenLogits) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  for (const double temperature : {0.0, 1.0}) {
    Sampler sampler({.temperature = temperature});
    EXPECT_ERROR(sampler.sample(std::vector<float>{1, nan, 2}), ErrorCode::Internal,
                 "NaN as the logit of token 1 of 3");
    EXPECT_ERROR(sampler.sample(std::vector<float>{nan}), ErrorCode::Internal,
                 "NaN as the logit of token 0 of 1");
    EXPECT_ERROR(sampler.sample(std::vector<float>{-infinity, -infinity}), ErrorCode::Internal,
                 "no finite largest logit (2 tokens)");
    EXPECT_ERROR(sampler.sample(std::vector<float>{infinity, 1}), ErrorCode::Internal,
                 "no finite largest logit (2 tokens)");
    EXPECT_ERROR(sampler.sample({}), ErrorCode::Internal, "no finite largest logit (0 tokens)");
    EXPECT_EQ(sampler.sample(std::vector<float>{-infinity, 1}), 1);
  }
}

TEST(Sampler, RefusesOptionsOutOfRange) {
  EXPECT_ERROR(Sampler({.temperature = -1}), ErrorCode::InvalidArgument,
               "temperature is -1, must be 0 or more");
  EXPECT_ERROR(Sampler({.temperature = std::nan("")}), ErrorCode::InvalidArgument,
               "temperature is nan, must be 0 or more");
  EXPECT_ERROR(Sampler({.top_k = -1}), ErrorCode::InvalidArgument, "top_k is -1, must be 0");
  EXPECT_ERROR(Sampler({.top_p = 0}), ErrorCode::InvalidArgument, "top_p is 0, must be above 0");
  EXPECT_ERROR(Sampler({.top_p = 1.5}), ErrorCode::InvalidArgument,
               "top_p is 1.5, must be above 0");
  EXPECT_ERROR(Sampler({.min_p = 2}), ErrorCode::InvalidArgument,
               "min_p is 2, must be from 0 to 1");
  EXPECT_ERROR(Sampler({.repetition_penalty = 0}), ErrorCode::InvalidArgument,
               "repetition_penalty is 0, must be above 0");
}

}  // namespace
}  // namespace pippin::runtime
