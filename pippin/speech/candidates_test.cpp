#include "pippin/speech/candidates.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <gtest/gtest.h>

#include "pippin/speech/scripted_model_testing.h"
#include "pippin/speech/token_scores.h"

namespace pippin::speech {
namespace {

using Ids = std::vector<int32_t>;
constexpr int64_t kVocabulary = 4;
constexpr int32_t kEnd = 3;

// Logits that depend on all tokens, and are different for each text.
std::vector<float> mixed(int64_t seed, const Ids& fed) {
  uint64_t hash = 1469598103934665603U + static_cast<uint64_t>(seed);
  for (const int32_t id : fed) hash = (hash ^ static_cast<uint64_t>(id + 1)) * 1099511628211U;
  runtime::RandomGenerator random(hash);
  std::vector<float> logits(kVocabulary);
  for (float& logit : logits) logit = static_cast<float>(4 * random.uniform());
  return logits;
}

class CandidatesTest : public testing::Test {
 protected:
  explicit CandidatesTest(ScriptedModel::Script script = nullptr)
      : model_(
            kVocabulary, script ? std::move(script) : [](int64_t window, const Ids& fed) {
              return mixed(window, fed);
            }) {}

  PromptedDecoder prompt(int64_t window, int64_t max_tokens) {
    const std::vector<float> features = {static_cast<float>(window)};
    decoder_ = model_.encode(features);
    const Ids start = {0};
    const auto row = decoder_->feed(start);
    logits_.assign(row.begin(), row.end());
    return {model_, *decoder_, logits_, rules_, kEnd, max_tokens};
  }

  // The sum of log-probabilities of a text, with its end.
  static double score(int64_t window, const Ids& text, bool ends) {
    Ids fed = {0};
    double sum = 0;
    Ids all = text;
    if (ends) all.push_back(kEnd);
    for (const int32_t id : all) {
      const std::vector<float> logits = mixed(window, fed);
      double total = 0;
      for (const float logit : logits) total += std::exp(logit);
      sum += logits[static_cast<size_t>(id)] - std::log(total);
      fed.push_back(id);
    }
    return sum;
  }

  // All texts of up to `most` tokens, the longest without an end.
  static std::vector<Candidate> all_texts(int64_t window, size_t most) {
    std::vector<Candidate> found;
    std::vector<Ids> open = {{}};
    for (size_t length = 0; length < most; ++length) {
      std::vector<Ids> longer;
      for (const Ids& text : open) {
        found.push_back({text, score(window, text, true)});
        for (int32_t id = 0; id < kEnd; ++id) {
          longer.push_back(text);
          longer.back().push_back(id);
        }
      }
      open = std::move(longer);
    }
    for (const Ids& text : open) found.push_back({text, score(window, text, false)});
    return found;
  }

  ScriptedModel model_;
  LogitRules rules_;
  std::unique_ptr<WindowDecoder> decoder_;
  std::vector<float> logits_;
};

TEST_F(CandidatesTest, GreedyTakesTheMostLikelyTokens) {
  for (int64_t window = 0; window < 20; ++window) {
    const Candidate candidate = decode_greedily(prompt(window, 6));
    Ids fed = {0};
    Ids text;
    bool ends = false;
    while (text.size() < 6 && !ends) {
      const auto logits = mixed(window, fed);
      const auto best =
          static_cast<int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
      ends = best == kEnd;
      if (ends) break;
      text.push_back(best);
      fed.push_back(best);
    }
    EXPECT_EQ(candidate.tokens, text);
    EXPECT_NEAR(candidate.sum_logprob, score(window, text, ends), 1e-5);
  }
}

TEST_F(CandidatesTest, BeamsWithoutLimitFindTheBestText) {
  for (int64_t window = 0; window < 10; ++window) {
    // 3^4 texts are open at most, and the search does not end early.
    const std::vector<Candidate> found = search_beams(prompt(window, 4), 64, 10);
    const std::vector<Candidate> all = all_texts(window, 4);
    for (const auto& penalty : {std::optional<double>(), std::optional<double>(0.5)}) {
      const Candidate& best = found[best_candidate(found, penalty)];
      const Candidate& expected = all[best_candidate(all, penalty)];
      // Of no tokens and of one, the length is the same.
      EXPECT_EQ(best.tokens, expected.tokens) << window;
      EXPECT_NEAR(best.sum_logprob, expected.sum_logprob, 1e-5);
    }
  }
}

// The search as OpenAI's code states it, over whole texts.
std::vector<Candidate> slow_beams(int64_t window, size_t beams, size_t most_finished,
                                  size_t max_tokens) {
  std::vector<Candidate> open = {{}};
  std::vector<Candidate> finished;
  for (size_t step = 0; step < max_tokens && finished.size() < most_finished; ++step) {
    std::vector<Candidate> next;
    for (const Candidate& text : open) {
      Ids fed = {0};
      fed.insert(fed.end(), text.tokens.begin(), text.tokens.end());
      std::vector<float> logprobs = mixed(window, fed);
      log_softmax(logprobs);
      std::vector<std::pair<float, int32_t>> order;
      for (int32_t id = 0; id < kVocabulary; ++id) order.emplace_back(-logprobs[id], id);
      std::sort(order.begin(), order.end());
      for (size_t i = 0; i < std::min<size_t>(beams + 1, order.size()); ++i) {
        Candidate longer = text;
        longer.tokens.push_back(order[i].second);
        longer.sum_logprob -= order[i].first;
        next.push_back(longer);
      }
    }
    std::stable_sort(next.begin(), next.end(), [](const Candidate& a, const Candidate& b) {
      return a.sum_logprob > b.sum_logprob;
    });
    open.clear();
    for (Candidate& text : next) {
      if (text.tokens.back() != kEnd) {
        open.push_back(text);
        if (open.size() == beams) break;
      } else if (finished.size() < most_finished) {
        text.tokens.pop_back();
        finished.push_back(text);
      }
    }
  }
  for (size_t i = 0; i < open.size() && finished.size() < beams; ++i) finished.push_back(open[i]);
  return finished;
}

TEST_F(CandidatesTest, BeamsAreThoseOfASlowSearch) {
  for (int64_t window = 0; window < 30; ++window) {
    for (const auto& [beams, patience, most] :
         {std::tuple(1, 1.0, 1), {2, 1.0, 2}, {3, 2.0, 6}, {5, 0.4, 2}}) {
      const auto found = search_beams(prompt(window, 7), beams, patience);
      const auto expected =
          slow_beams(window, static_cast<size_t>(beams), static_cast<size_t>(most), 7);
      ASSERT_EQ(found.size(), expected.size()) << window << " " << beams;
      for (size_t i = 0; i < found.size(); ++i) {
        EXPECT_EQ(found[i].tokens, expected[i].tokens);
        EXPECT_NEAR(found[i].sum_logprob, expected[i].sum_logprob, 1e-4);
      }
    }
  }
  EXPECT_GT(model_.forks, 0);
}

TEST_F(CandidatesTest, SamplesFollowTheDistributionAtTheTemperature) {
  runtime::RandomGenerator random(1);
  constexpr double kTemperature = 0.5;
  std::map<int32_t, double> counts;
  constexpr int kSamples = 4000;
  for (const Candidate& sample : sample_candidates(prompt(3, 1), kTemperature, kSamples, random)) {
    counts[sample.tokens.empty() ? kEnd : sample.tokens[0]] += 1.0 / kSamples;
  }
  double total = 0;
  for (const float logit : logits_) total += std::exp(logit / kTemperature);
  for (int32_t id = 0; id < kVocabulary; ++id) {
    EXPECT_NEAR(counts[id], std::exp(logits_[static_cast<size_t>(id)] / kTemperature) / total,
                0.03);
  }
}

TEST_F(CandidatesTest, SamplesHaveTheScoresOfTheirTexts) {
  runtime::RandomGenerator random(7);
  runtime::RandomGenerator same(7);
  const auto samples = sample_candidates(prompt(5, 6), 1, 8, random);
  const auto again = sample_candidates(prompt(5, 6), 1, 8, same);
  for (size_t i = 0; i < samples.size(); ++i) {
    const bool ends = samples[i].tokens.size() < 6;
    EXPECT_NEAR(samples[i].sum_logprob, score(5, samples[i].tokens, ends), 1e-4);
    EXPECT_EQ(samples[i].tokens, again[i].tokens);
  }
}

TEST(BestCandidate, LengthsDivideTheScores) {
  const std::vector<Candidate> candidates = {{{1}, -1}, {{1, 2, 1, 2}, -2}};
  EXPECT_EQ(best_candidate(candidates, std::nullopt), 1U);  // -1 and -0.5
  EXPECT_EQ(best_candidate(candidates, 0.0), 0U);           // -1 and -2
  EXPECT_EQ(best_candidate(candidates, 1.0), 0U);           // -1 and -1.33
}

}  // namespace
}  // namespace pippin::speech
