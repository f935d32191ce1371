// Compares every processor with a plain implementation of its definition.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/testing.h"
#include "pippin/runtime/sampling/logprobs.h"
#include "pippin/runtime/sampling/sampler.h"

namespace pippin::runtime {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<float> logits_of(const std::vector<double>& probabilities) {
  std::vector<float> logits;
  for (const double p : probabilities) logits.push_back(static_cast<float>(std::log(p)));
  return logits;
}

std::vector<double> softmax(const std::vector<double>& scores) {
  const double largest = *std::max_element(scores.begin(), scores.end());
  std::vector<double> result;
  double total = 0;
  for (const double score : scores) total += std::exp(score - largest);
  for (const double score : scores) result.push_back(std::exp(score - largest) / total);
  return result;
}

void expect_near(std::span<const double> actual, const std::vector<double>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(actual[i], expected[i], 1e-6) << i;
}

// The effect of a processor of scores, seen through a temperature of 1.
std::vector<double> probabilities(SamplingOptions options, const std::vector<float>& logits,
                                  const std::vector<int32_t>& prompt = {},
                                  const std::vector<int32_t>& text = {}) {
  options.temperature = 1;
  Sampler sampler(options);
  sampler.observe(prompt);
  for (const int32_t id : text) {
    // Only this token is possible.
    std::vector<float> only(logits.size(), -kInfinity);
    only[static_cast<size_t>(id)] = 1000;
    EXPECT_EQ(sampler.sample(only), id);
  }
  const auto result = sampler.distribution(logits);
  return {result.begin(), result.end()};
}

TEST(LogitBias, IsAddedAndBans) {
  const std::vector<float> logits = {1, 2, 3};
  expect_near(probabilities({.logit_bias = {{0, 2.5}, {2, -INFINITY}, {77, 5.0}}}, logits),
              softmax({3.5, 2, -INFINITY}));
  Sampler greedy({.logit_bias = {{0, 2.5}, {2, -INFINITY}}});
  EXPECT_EQ(greedy.sample(logits), 0);
}

TEST(Exclusion, RulesOutByWhatIsBefore) {
  const std::vector<float> logits = {1, 2, 3, 4};
  const double no = -INFINITY;
  expect_near(probabilities({.suppressed = {3, 99}}, logits), softmax({1, 2, 3, no}));
  expect_near(probabilities({.suppressed_first = {3}}, logits, {1, 2}), softmax({1, 2, 3, no}));
  expect_near(probabilities({.suppressed_first = {3}}, logits, {1, 2}, {0}), softmax({1, 2, 3, 4}));
  // Counts tokens of both prompt and text.
  const SamplingOptions words = {.bad_words = {{0}, {1, 2}, {2, 1, 3}}};
  expect_near(probabilities(words, logits), softmax({no, 2, 3, 4}));
  expect_near(probabilities(words, logits, {3, 1}), softmax({no, 2, no, 4}));
  expect_near(probabilities(words, logits, {2}, {1}), softmax({no, 2, no, no}));
  const SamplingOptions ngrams = {.no_repeat_ngram = 2};
  expect_near(probabilities(ngrams, logits, {1, 2, 1, 3}, {1}), softmax({1, 2, no, no}));
  expect_near(probabilities({.no_repeat_ngram = 1}, logits, {1}, {0}), softmax({no, no, 3, 4}));
  const SamplingOptions least = {.min_tokens = 2, .min_length = 5, .min_tokens_ends = {3}};
  expect_near(probabilities(least, logits, {0, 1, 2, 0, 1}, {0}), softmax({1, 2, 3, no}));
  expect_near(probabilities(least, logits, {0, 1, 2}, {0, 1}), softmax({1, 2, 3, 4}));
  expect_near(probabilities(least, logits, {0, 1}, {0, 1}), softmax({1, 2, 3, no}));
}

TEST(LogitBias, ThatBansAllIsAnError) {
  Sampler greedy({.logit_bias = {{0, -INFINITY}, {1, -INFINITY}}});
  EXPECT_ERROR(greedy.sample(std::vector<float>{1, 2}), ErrorCode::InvalidArgument,
               "no token is left");
}

TEST(Penalties, CountTheTextAndNotThePrompt) {
  const std::vector<float> logits = {1, 1, 1, 1};
  // 0 is in the prompt only, 1 once in the text, 2 twice and in the prompt.
  expect_near(probabilities({.presence_penalty = 0.5, .frequency_penalty = 0.25}, logits, {0, 0, 2},
                            {1, 2, 2}),
              softmax({1, 1 - 0.75, 1 - 1.0, 1}));
}

TEST(Penalties, LookAtTheLastTokensOnly) {
  const std::vector<float> logits = {1, 1, 1, -1};
  const SamplingOptions options = {
      .repetition_penalty = 2, .frequency_penalty = 0.25, .penalty_last_n = 3};
  // The last three tokens: 3 from the prompt, then 1 and 1 from the text.
  expect_near(probabilities(options, logits, {0, 2, 3}, {1, 1}), softmax({1, 0.5 - 0.5, 1, -2}));
  // More than exist: all.
  expect_near(
      probabilities({.repetition_penalty = 2, .penalty_last_n = 9}, logits, {0, 2, 3}, {1, 1}),
      softmax({0.5, 0.5, 0.5, -2}));
}

// By definition: for each earlier occurrence of the last token, the number of tokens before it that
// equal the end.
std::map<int32_t, int64_t> longest_repetitions(const std::vector<int32_t>& tokens,
                                               const std::set<int32_t>& breakers) {
  std::map<int32_t, int64_t> longest;
  const auto size = static_cast<int64_t>(tokens.size());
  for (int64_t next = 1; next < size; ++next) {
    const int32_t token = tokens[static_cast<size_t>(next)];
    int64_t length = 0;
    while (length < next) {
      const int32_t here = tokens[static_cast<size_t>(next - 1 - length)];
      if (here != tokens[static_cast<size_t>(size - 1 - length)] || breakers.contains(here)) break;
      ++length;
    }
    if (length > 0 && !breakers.contains(token)) longest[token] = std::max(longest[token], length);
  }
  return longest;
}

TEST(Dry, IsItsDefinitionOnRandomSequences) {
  std::mt19937 random(20);
  for (int round = 0; round < 300; ++round) {
    const int vocabulary = 2 + static_cast<int>(random() % 5);
    std::vector<int32_t> tokens(random() % 40);
    for (int32_t& id : tokens)
      id = static_cast<int32_t>(random() % static_cast<unsigned>(vocabulary));
    SamplingOptions options = {.dry_multiplier = 0.8, .dry_base = 1.5};
    options.dry_allowed_length = static_cast<int64_t>(random() % 4);
    if (random() % 2 == 0) options.dry_breakers = {static_cast<int32_t>(vocabulary - 1)};
    options.dry_last_n = random() % 3 == 0 ? 12 : 0;
    std::vector<int32_t> seen = tokens;
    if (options.dry_last_n > 0 && seen.size() > 12) seen.erase(seen.begin(), seen.end() - 12);
    std::vector<double> scores(static_cast<size_t>(vocabulary), 0.0);
    for (const auto& [id, length] :
         longest_repetitions(seen, {options.dry_breakers.begin(), options.dry_breakers.end()})) {
      if (length < options.dry_allowed_length) continue;
      scores[static_cast<size_t>(id)] -=
          0.8 * std::pow(1.5, static_cast<double>(length - options.dry_allowed_length));
    }
    SCOPED_TRACE(round);
    expect_near(probabilities(options, std::vector<float>(scores.size(), 0.0f), tokens),
                softmax(scores));
  }
}

TEST(Dry, OfAnEndlessRepetitionStaysFinite) {
  const std::vector<int32_t> tokens(5000, 1);
  const auto result = probabilities({.dry_multiplier = 1}, {0, 0, 0}, tokens);
  expect_near(result, {0.5, 0, 0.5});
}

TEST(Typical, KeepsWhatIsNearTheEntropy) {
  // Entropy 1.0628 nats; surprises 0.5108, 1.6094, 1.8971, 2.9957: distances 0.552, 0.547, 0.834,
  // 1.933.
  const auto logits = logits_of({0.6, 0.2, 0.15, 0.05});
  expect_near(probabilities({.typical_p = 0.1}, logits), {0, 1, 0, 0});
  expect_near(probabilities({.typical_p = 0.7}, logits), {0.75, 0.25, 0, 0});
  expect_near(probabilities({.typical_p = 0.9}, logits), {0.6 / 0.95, 0.2 / 0.95, 0.15 / 0.95, 0});
  // A likely token is not typical of an otherwise flat distribution.
  expect_near(probabilities({.typical_p = 0.2}, logits_of({0.4, 0.15, 0.15, 0.15, 0.15})),
              {0, 0.25, 0.25, 0.25, 0.25});
}

TEST(Xtc, LeavesTheLeastOfTheTopChoices) {
  const auto logits = logits_of({0.1, 0.4, 0.3, 0.15, 0.05});
  const SamplingOptions always = {.xtc_probability = 1, .xtc_threshold = 0.12};
  expect_near(probabilities(always, logits), {0.1 / 0.3, 0, 0, 0.15 / 0.3, 0.05 / 0.3});
  // A single top choice stays.
  expect_near(probabilities({.xtc_probability = 1, .xtc_threshold = 0.35}, logits),
              {0.1, 0.4, 0.3, 0.15, 0.05});
  // Of equal ones, one stays.
  expect_near(probabilities(always, logits_of({0.5, 0.5})), {1, 0});
  int dropped = 0;
  SamplingOptions half = {
      .temperature = 1, .xtc_probability = 0.5, .xtc_threshold = 0.12, .seed = 3};
  Sampler sampler(half);
  for (int i = 0; i < 1000; ++i) dropped += sampler.distribution(logits)[1] == 0 ? 1 : 0;
  EXPECT_NEAR(dropped, 500, 60);
}

TEST(Mirostat, HoldsTheSurpriseNearItsTarget) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal(0, 2);
  for (const double tau : {2.0, 4.0}) {
    Sampler sampler({.temperature = 1, .mirostat_tau = tau, .mirostat_eta = 0.1, .seed = 9});
    double sum = 0;
    const int steps = 3000;
    for (int i = 0; i < steps; ++i) {
      std::vector<float> logits(1000);
      for (float& logit : logits) logit = normal(random);
      Sampler before = sampler;
      const int32_t id = sampler.sample(logits);
      sum -= std::log2(before.distribution(logits)[static_cast<size_t>(id)]);
    }
    EXPECT_NEAR(sum / steps, tau, 0.1);
  }
}

TEST(Mirostat, AlwaysLeavesTheLikeliest) {
  Sampler sampler({.temperature = 1, .mirostat_tau = 0.001, .mirostat_eta = 1});
  for (int i = 0; i < 10; ++i) EXPECT_EQ(sampler.sample(logits_of({0.2, 0.5, 0.3})), 1);
}

// Allows even tokens only, and counts its accept() calls.
class EvenOnly final : public LogitsProcessor {
 public:
  explicit EvenOnly(std::vector<int32_t>* accepted) : accepted_(accepted) {}
  void process(const SamplingContext& /*context*/, Candidates& candidates) override {
    candidates.keep_if([&](size_t i) { return candidates.items()[i].id % 2 == 0; });
  }
  void accept(int32_t id, Candidates& /*candidates*/) override { accepted_->push_back(id); }
  std::unique_ptr<LogitsProcessor> clone() const override {
    return std::make_unique<EvenOnly>(*this);
  }

 private:
  std::vector<int32_t>* accepted_;
};

TEST(Sampler, TakesProcessorsOfTheCaller) {
  std::vector<int32_t> accepted;
  // Top-k counts the tokens that the mask left.
  Sampler sampler({.temperature = 1, .top_k = 2, .seed = 1});
  sampler.add(std::make_unique<EvenOnly>(&accepted));
  const auto logits = logits_of({0.1, 0.4, 0.2, 0.2, 0.1});
  expect_near(sampler.distribution(logits), {0.1 / 0.4, 0, 0.2 / 0.4, 0, 0.1 / 0.4});
  std::vector<int32_t> chosen;
  for (int i = 0; i < 20; ++i) chosen.push_back(sampler.sample(logits));
  EXPECT_EQ(accepted, chosen);
  EXPECT_TRUE(std::all_of(chosen.begin(), chosen.end(), [](int32_t id) { return id % 2 == 0; }));
}

TEST(Sampler, ACopyGoesOnAlike) {
  Sampler sampler({.temperature = 1,
                   .xtc_probability = 0.3,
                   .mirostat_tau = 1.5,
                   .frequency_penalty = 0.3,
                   .seed = 4});
  const auto logits = logits_of({0.1, 0.2, 0.3, 0.25, 0.15});
  for (int i = 0; i < 10; ++i) sampler.sample(logits);
  Sampler copy = sampler;
  for (int i = 0; i < 30; ++i) EXPECT_EQ(copy.sample(logits), sampler.sample(logits));
}

TEST(Logprobs, AreThoseOfTheModel) {
  const auto result = logprobs_of(logits_of({0.1, 0.4, 0.1, 0.4}), 0, 3);
  EXPECT_EQ(result.chosen.id, 0);
  EXPECT_NEAR(result.chosen.logprob, std::log(0.1), 1e-6);
  ASSERT_EQ(result.top.size(), 3u);
  EXPECT_EQ(result.top[0].id, 1);
  EXPECT_EQ(result.top[1].id, 3);
  EXPECT_EQ(result.top[2].id, 0);
  EXPECT_NEAR(result.top[1].logprob, std::log(0.4), 1e-6);
  EXPECT_EQ(logprobs_of(std::vector<float>{5}, 0, 9).top.size(), 1u);
  EXPECT_EQ(logprobs_of(std::vector<float>{1, -kInfinity}, 1, 0).chosen.logprob, -kInfinity);
  EXPECT_ERROR(logprobs_of(std::vector<float>{1, 2}, 2, 0), ErrorCode::InvalidArgument,
               "token 2 is not in the vocabulary of 2");
  EXPECT_ERROR(logprobs_of(std::vector<float>{-kInfinity}, 0, 0), ErrorCode::Internal,
               "no finite largest logit (1 tokens)");
}

TEST(SamplingOptions, NameWhatIsOutOfRange) {
  const auto message = [](const SamplingOptions& options) -> std::string {
    try {
      options.check();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(message({.typical_p = 0}), "typical_p is 0, must be above 0 and at most 1");
  EXPECT_EQ(message({.xtc_probability = 2}), "xtc_probability is 2, must be from 0 to 1");
  EXPECT_EQ(message({.mirostat_tau = -1}), "mirostat_tau is -1, must be 0 (off) or more");
  EXPECT_EQ(message({.presence_penalty = NAN}), "presence_penalty is nan, must be a number");
  EXPECT_EQ(message({.penalty_last_n = -1}), "penalty_last_n is -1, must be 0 (all) or more");
  EXPECT_EQ(message({.dry_base = 0.5}), "dry_base is 0.5, must be 1 or more");
  EXPECT_EQ(message({.logit_bias = {{3, NAN}}}),
            "logit_bias: the bias of token 3 is nan, must be a number, or -infinity for never");
  EXPECT_EQ(message({}), "");
}

}  // namespace
}  // namespace pippin::runtime
