#include "pippin/runtime/constrained_sampling.h"

#include <map>

#include <gtest/gtest.h>

#include "pippin/base/testing.h"
#include "pippin/constrain/grammar_testing.h"
#include "pippin/runtime/sampling/sampler.h"

namespace pippin::runtime {
namespace {

const std::vector<std::string> kTokens{"[", "]", "1", ",", "12", "x", "],", ""};  // last: end
constexpr int32_t kEnd = 7;

std::shared_ptr<constrain::Constraint> json_constraint() {
  const auto grammar = constrain::json_grammar();
  grammar->finish();
  return std::make_shared<constrain::Constraint>(grammar,
                                                 std::make_shared<constrain::Vocabulary>(kTokens));
}

TEST(ConstrainedSampling, ChoosesTheBestOfWhatIsAllowed) {
  Sampler sampler(SamplingOptions{});
  sampler.add(std::make_unique<ConstrainedSampling>(json_constraint(), std::vector{kEnd}));
  std::vector<float> logits(8);
  logits[5] = 100;  // never allowed
  logits[0] = 1;
  EXPECT_EQ(sampler.sample(logits), 0);
  logits[6] = 50;  // a value must come first
  logits[4] = 2;
  EXPECT_EQ(sampler.sample(logits), 4);
  logits[kEnd] = 60;  // an open list cannot end
  EXPECT_FALSE(sampler.must_end());
  logits[1] = 30;
  EXPECT_EQ(sampler.sample(logits), 1);
  EXPECT_TRUE(sampler.must_end());
}

TEST(ConstrainedSampling, LetsTheModelEndWhereTheTextMayEnd) {
  Sampler sampler(SamplingOptions{});
  sampler.add(std::make_unique<ConstrainedSampling>(json_constraint(), std::vector{kEnd}));
  std::vector<float> logits(8);
  logits[2] = 1;
  EXPECT_EQ(sampler.sample(logits), 2);
  EXPECT_FALSE(sampler.must_end());  // more digits may come
  logits[kEnd] = 2;
  EXPECT_EQ(sampler.sample(logits), kEnd);
}

// Draws follow the model's distribution over the allowed tokens.
TEST(ConstrainedSampling, DrawsFromTheDistributionOfTheAllowed) {
  SamplingOptions options;
  options.temperature = 1;
  Sampler sampler(options);
  sampler.add(std::make_unique<ConstrainedSampling>(json_constraint(), std::vector{kEnd}));
  std::vector<float> logits(8);
  logits[2] = 1;
  logits[5] = 10;
  const auto distribution = sampler.distribution(logits);
  const double total = 2 + std::exp(1.0);  // "[", "12", and "1"
  EXPECT_NEAR(distribution[2], std::exp(1.0) / total, 1e-6);
  EXPECT_NEAR(distribution[0], 1 / total, 1e-6);
  EXPECT_EQ(distribution[5], 0);
  EXPECT_EQ(distribution[kEnd], 0);
}

TEST(ConstrainedSampling, RefusesWhereTheVocabularyLacksWhatMustCome) {
  auto grammar = std::make_shared<constrain::Grammar>();
  const auto root = grammar->add_rule("root");
  grammar->add_alternative(root, constrain::text(*grammar, "1z"));
  grammar->set_root(root);
  grammar->finish();
  Sampler sampler(SamplingOptions{});
  const auto vocabulary = std::make_shared<constrain::Vocabulary>(kTokens);
  sampler.add(std::make_unique<ConstrainedSampling>(
      std::make_shared<constrain::Constraint>(grammar, vocabulary), std::vector{kEnd}));
  const std::vector<float> logits(8);
  EXPECT_EQ(sampler.sample(logits), 2);
  EXPECT_ERROR(sampler.sample(logits), ErrorCode::Unsupported,
               "after 1 tokens of a constrained text the vocabulary has no token");
}

TEST(Candidates, KeepsOnlyThoseOfAMask) {
  Candidates candidates;
  const std::vector<float> logits(200, 1.0F);
  const std::vector<uint64_t> words{1ULL << 5, 0, (1ULL << 63) | 1, ~0ULL};
  candidates.assign(logits);
  candidates.keep_only(words);
  ASSERT_EQ(candidates.size(), 11U);
  EXPECT_EQ(candidates.items()[0].id, 5);
  EXPECT_EQ(candidates.items()[2].id, 191);
  EXPECT_EQ(candidates.items()[10].id, 199);
  // Also when some candidates have been removed before.
  candidates.assign(logits);
  candidates.keep_if([](size_t i) { return i > 5; });
  candidates.keep_only(std::span(words).first(3));
  ASSERT_EQ(candidates.size(), 2U);
  EXPECT_EQ(candidates.items()[0].id, 128);
}

}  // namespace
}  // namespace pippin::runtime
