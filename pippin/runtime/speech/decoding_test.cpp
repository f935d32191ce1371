#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/runtime/speech/ctc_decoding.h"
#include "pippin/runtime/speech/transducer_decoding.h"

namespace pippin::runtime {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// A row in which `best` is likely.
std::vector<float> row(size_t width, size_t best, float score = 10) {
  std::vector<float> scores(width);
  scores[best] = score;
  return scores;
}

TEST(BestScore, IsTheFirstOfEqualsAndNeverNaN) {
  EXPECT_EQ(best_score(std::vector<float>{1, 3, 3}).index, 1);
  EXPECT_EQ(best_score(std::vector<float>{kNan, -1, -2}).index, 1);
  EXPECT_FLOAT_EQ(best_score(std::vector<float>{0, 0, 0, 0}).probability, 0.25f);
  EXPECT_FLOAT_EQ(best_score(std::vector<float>{0, std::log(3.0f)}).probability, 0.75f);
}

std::vector<SpeechToken> decode_ids(const std::vector<size_t>& ids) {
  std::vector<float> logits;
  for (const size_t id : ids) {
    const std::vector<float> scores = row(4, id);
    logits.insert(logits.end(), scores.begin(), scores.end());
  }
  std::vector<SpeechToken> tokens = decode_ctc(logits, 4, 0);
  for (SpeechToken& token : tokens) token.probability = 0;
  return tokens;
}

TEST(DecodeCtc, JoinsRunsAndDropsBlanks) {
  const std::vector<SpeechToken> expected = {{1, 1, 3}, {1, 4, 5}, {3, 5, 8}};
  EXPECT_EQ(decode_ids({0, 1, 1, 0, 1, 3, 3, 3, 0}), expected);
  EXPECT_TRUE(decode_ids({0, 0}).empty());
  EXPECT_TRUE(decode_ids({}).empty());
}

TEST(DecodeCtc, HasTheProbabilityOfTheMostCertainFrame) {
  std::vector<float> logits = row(2, 1, 1);
  const std::vector<float> certain = row(2, 1, 5);
  logits.insert(logits.end(), certain.begin(), certain.end());
  EXPECT_FLOAT_EQ(decode_ctc(logits, 2, 0).at(0).probability, 1 / (1 + std::exp(-5.0f)));
}

// Networks that give these tokens and indices of durations, one after another, whatever the frame.
class ScriptedNetworks final : public TransducerNetworks {
 public:
  struct Step {
    size_t token, duration;
  };
  ScriptedNetworks(size_t tokens, size_t durations, std::vector<Step> steps)
      : tokens_(tokens), durations_(durations), steps_(std::move(steps)) {}

  void predict(int32_t token) override { fed.push_back(token); }
  TransducerChoice choose(int64_t frame) override {
    frames.push_back(frame);
    const Step& step = steps_.at(frames.size() - 1);
    scores_ = row(tokens_, step.token);
    if (durations_ > 0) {
      // Larger than those of tokens, which they do not compete with.
      const std::vector<float> more = row(durations_, step.duration, 20);
      scores_.insert(scores_.end(), more.begin(), more.end());
    }
    return best_choice(rules, scores_);
  }

  TransducerRules rules;
  std::vector<int32_t> fed;
  std::vector<int64_t> frames;

 private:
  size_t tokens_, durations_;
  std::vector<Step> steps_;
  std::vector<float> scores_;
};

std::vector<SpeechToken> decode(const TransducerRules& rules, int64_t frames,
                                ScriptedNetworks& networks) {
  networks.rules = rules;
  std::vector<SpeechToken> tokens = decode_transducer(rules, frames, networks);
  for (SpeechToken& token : tokens) token.probability = 0;
  return tokens;
}

TEST(DecodeTransducer, AdvancesAtBlanks) {
  ScriptedNetworks networks(4, 0, {{1, 0}, {2, 0}, {3, 0}, {3, 0}, {2, 0}, {3, 0}});
  const std::vector<SpeechToken> expected = {{1, 0, 1}, {2, 0, 1}, {2, 2, 3}};
  EXPECT_EQ(decode({.vocab_size = 4, .blank = 3, .max_symbols = 9}, 3, networks), expected);
  // The first prediction is that of the blank; others are skipped.
  EXPECT_EQ(networks.fed, (std::vector<int32_t>{3, 1, 2, 2}));
  EXPECT_EQ(networks.frames, (std::vector<int64_t>{0, 0, 0, 1, 2, 2}));
}

TEST(DecodeTransducer, AdvancesAfterTheMostSymbolsOfAFrame) {
  ScriptedNetworks networks(2, 0, {{0, 0}, {0, 0}, {0, 0}, {1, 0}});
  const std::vector<SpeechToken> expected = {{0, 0, 1}, {0, 0, 1}, {0, 1, 2}};
  EXPECT_EQ(decode({.vocab_size = 2, .blank = 1, .max_symbols = 2}, 2, networks), expected);
}

TEST(DecodeTransducer, AdvancesByDurations) {
  // Durations 0, 2 and 5: a token that stays, one that advances, a blank that would stay, a token
  // beyond the end.
  ScriptedNetworks networks(3, 3, {{0, 0}, {1, 1}, {2, 0}, {1, 2}});
  const TransducerRules rules{
      .vocab_size = 3, .blank = 2, .durations = {0, 2, 5}, .max_symbols = 10};
  const std::vector<SpeechToken> expected = {{0, 0, 1}, {1, 0, 2}, {1, 3, 6}};
  EXPECT_EQ(decode(rules, 6, networks), expected);
  EXPECT_EQ(networks.frames, (std::vector<int64_t>{0, 0, 2, 3}));
  EXPECT_EQ(networks.fed, (std::vector<int32_t>{2, 0, 1}));
}

TEST(DecodeTransducer, LimitsTokensThatStayWithDurations) {
  ScriptedNetworks networks(2, 1, {{0, 0}, {0, 0}, {0, 0}, {0, 0}});
  const TransducerRules rules{.vocab_size = 2, .blank = 1, .durations = {0}, .max_symbols = 2};
  EXPECT_EQ(decode(rules, 2, networks).size(), 4U);
}

}  // namespace
}  // namespace pippin::runtime
