#include "pippin/runtime/token_rules.h"

#include <random>
#include <string>

#include <gtest/gtest.h>

#include "pippin/base/testing.h"
#include "pippin/runtime/banned_texts.h"
#include "pippin/runtime/sampling/sampler.h"
#include "pippin/runtime/thinking_budget.h"
#include "pippin/tokenizers/tokenizer.h"

namespace pippin::runtime {
namespace {

// Logits that prefer tokens in this order.
std::vector<float> preferring(const std::vector<int32_t>& ids, size_t vocab_size) {
  std::vector<float> logits(vocab_size);
  for (size_t i = 0; i < ids.size(); ++i) {
    logits[static_cast<size_t>(ids[i])] = static_cast<float>(ids.size() - i);
  }
  return logits;
}

TEST(TokenRules, NoEndBeforeEnoughTokens) {
  Sampler sampler(SamplingOptions{});
  sampler.observe(std::vector<int32_t>{1, 2, 3});  // the prompt does not count
  sampler.add(std::make_unique<MinTokens>(std::vector<int32_t>{7, 99}, 2));
  const auto logits = preferring({7, 4}, 8);
  EXPECT_EQ(sampler.sample(logits), 4);
  EXPECT_EQ(sampler.sample(logits), 4);
  EXPECT_EQ(sampler.sample(logits), 7);
}

TEST(TokenRules, OnlyAllowedTokens) {
  Sampler sampler(SamplingOptions{});
  sampler.add(std::make_unique<AllowedTokens>(std::vector<int32_t>{2, 5}));
  EXPECT_EQ(sampler.sample(preferring({7, 4, 5}, 8)), 5);
  sampler.add(std::make_unique<AllowedTokens>(std::vector<int32_t>{3}));
  EXPECT_ERROR(sampler.sample(preferring({3}, 8)), ErrorCode::Unsupported,
               "none of the 1 allowed tokens may come next");
}

// A banned text never appears, however it is divided into tokens; all others may.
TEST(TokenRules, BannedTextsDoNotCome) {
  const std::vector<std::string> tokens = {"a", "b",   "ab",       "ba",  "aba",
                                           "c", "abc", "\xE6\xBC", "\xA2"};
  const auto vocabulary = std::make_shared<constrain::Vocabulary>(tokens);
  for (const std::vector<std::string>& banned : std::vector<std::vector<std::string>>{
           {"abab"}, {"aa"}, {"c", "bb"}, {"abaab", "bab"}, {"a"}, {"\xE6\xBC\xA2"}}) {
    for (uint64_t seed = 0; seed < 20; ++seed) {
      SamplingOptions options;
      options.temperature = 1;
      options.seed = seed;
      Sampler sampler(options);
      sampler.add(std::make_unique<BannedTexts>(banned, vocabulary));
      std::string text;
      for (int i = 0; i < 40; ++i) {
        const std::vector<float> logits(tokens.size());
        Sampler other = sampler;
        const auto distribution = other.distribution(logits);
        for (size_t id = 0; id < tokens.size(); ++id) {
          bool completes = false;
          for (const std::string& one : banned) {
            completes |= (text + tokens[id]).find(one) != std::string::npos;
          }
          EXPECT_EQ(distribution[id] == 0, completes)
              << banned.front() << ": " << text << " + " << tokens[id];
        }
        text += tokens[static_cast<size_t>(sampler.sample(logits))];
      }
    }
  }
}

class Thinking : public testing::Test {
 protected:
  Thinking() : tokenizer_(Tokenizer::open(source_dir() / "pippin/demo/model")) {}

  // The text written by a model that always prefers `id`.
  std::string written(ThinkingBudget budget, int count, int32_t id) const {
    Sampler sampler(SamplingOptions{});
    sampler.add(budget.clone());
    std::string text;
    for (int i = 0; i < count; ++i) {
      const int32_t next =
          sampler.sample(preferring({id}, static_cast<size_t>(tokenizer_.vocab_size())));
      text += tokenizer_.token_bytes(next);
    }
    return text;
  }
  ThinkingBudget budget(int64_t tokens, bool is_thinking) const {
    return {{"<think>", {}}, {"</think>", {}}, tokens, is_thinking, tokenizer_};
  }

  const Tokenizer tokenizer_;
  const int32_t a_ = tokenizer_.encode("a", false).front();
};

TEST_F(Thinking, EndsWhereItsBudgetDoes) {
  for (const int tokens : {0, 1, 5}) {
    const std::string text = written(budget(tokens, true), 30, a_);
    const std::string start = std::string(static_cast<size_t>(tokens), 'a') + "</think>aaa";
    EXPECT_TRUE(text.starts_with(start)) << text;
  }
  const std::string free = written(budget(3, false), 30, a_);
  EXPECT_EQ(free, std::string(30, 'a'));
}

TEST_F(Thinking, OfTheModelsOwnBeginCounts) {
  ThinkingBudget budget = this->budget(2, false);
  Candidates candidates;
  const auto say = [&](const std::string& text) {
    for (const int32_t id : tokenizer_.encode(text, false)) budget.accept(id, candidates);
  };
  say(" <think>");
  EXPECT_TRUE(budget.certain().empty());
  say("a");
  EXPECT_TRUE(budget.certain().empty());
  say("a");
  EXPECT_EQ(tokenizer_.decode(budget.certain()), "</think>");
  say("</think>");
  EXPECT_TRUE(budget.certain().empty());
  say("The mark <think> is a word aaa");  // not at the start any more
  EXPECT_TRUE(budget.certain().empty());
}

TEST_F(Thinking, DividesNoCharacter) {
  ThinkingBudget budget = this->budget(1, true);
  Candidates candidates;
  const auto bytes = tokenizer_.encode("\u6f22", false);
  ASSERT_EQ(bytes.size(), 3U);
  budget.accept(bytes[0], candidates);
  budget.accept(bytes[1], candidates);
  EXPECT_TRUE(budget.certain().empty());
  budget.accept(bytes[2], candidates);
  EXPECT_EQ(tokenizer_.decode(budget.certain()), "</think>");
}

TEST_F(Thinking, OfSpecialTokensEndsWithThem) {
  ThinkingBudget budget({"", {1}}, {"", {2}}, 1, false, tokenizer_);
  Candidates candidates;
  budget.accept(1, candidates);
  budget.accept(a_, candidates);
  ASSERT_EQ(budget.certain().size(), 1U);
  EXPECT_EQ(budget.certain().front(), 2);
}

}  // namespace
}  // namespace pippin::runtime
